/* Five that can be told apart by how often they call: the first process 101 times, a thread of it
 * 103, its child 211, the child's child 307, and one whose parents ended 401, in each round. It
 * says their numbers, then does a round each time it is told, to the end of standard input. */
#include "tree.h"

static int *born, *round_now, *made, *numbers;

static void take_part(int who, long calls)
{
	numbers[who] = getpid();
	add_one(born);
	for (int next = 1;; next++) {
		wait_until(round_now, next);
		rare_calls(calls);
		add_one(made);
	}
}

static void *thread(void *unused)
{
	take_part(0, 103);
	return unused;
}

int main(void)
{
	pthread_t other;
	char line[64];

	born = shared(4096);
	round_now = born + 1;
	made = born + 2;
	numbers = born + 3;
	pid_t between = fork_checked();
	if (!between) {
		if (!fork_checked()) {
			setsid();
			prctl(PR_SET_PDEATHSIG, 0);
			take_part(3, 401);
		}
		_exit(0);
	}
	reap(between);
	if (!fork_checked()) {
		if (!fork_checked())
			take_part(2, 307);
		take_part(1, 211);
	}
	check(!pthread_create(&other, NULL, thread, NULL), "pthread_create");
	wait_until(born, 4);
	printf("ready %d %d %d %d\n", getpid(), numbers[1], numbers[2], numbers[3]);
	fflush(stdout);
	for (int rounds = 1; fgets(line, sizeof(line), stdin); rounds++) {
		add_one(round_now);
		rare_calls(101);
		wait_until(made, 4 * rounds);
		say("round", rounds);
	}
	for (int who = 1; who < 4; who++)
		kill(numbers[who], SIGKILL);
	return 0;
}
