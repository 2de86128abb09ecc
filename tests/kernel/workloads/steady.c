/* steady: 2 processes of 3 threads call without a pause, and a third makes children that make 7
 * calls each, until told. It says how many calls that were, of all of them. */
#include "tree.h"

static long *total;
static int *stop, *born, *ended;

static void *caller(void *unused)
{
	long mine = 0;

	add_one(born);
	for (; !__atomic_load_n(stop, __ATOMIC_SEQ_CST); mine++)
		getppids(1);
	__atomic_add_fetch(total, mine, __ATOMIC_SEQ_CST);
	return unused;
}

static void threads(void)
{
	pthread_t others[2];

	for (int i = 0; i < 2; i++)
		check(!pthread_create(&others[i], NULL, caller, NULL), "pthread_create");
	caller(NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(others[i], NULL);
}

static void forks(void)
{
	long mine = 0;

	add_one(born);
	for (; !__atomic_load_n(stop, __ATOMIC_SEQ_CST); mine += 7) {
		pid_t pid = fork_checked();
		if (!pid) {
			getppids(7);
			_exit(0);
		}
		reap(pid);
	}
	__atomic_add_fetch(total, mine, __ATOMIC_SEQ_CST);
}

int main(void)
{
	pid_t inner[3];

	total = shared(4096);
	stop = (int *)(total + 1);
	born = stop + 1;
	ended = stop + 2;
	wait_for_go("ready");
	for (int i = 0; i < 3; i++) {
		inner[i] = fork_checked();
		if (inner[i])
			continue;
		i == 2 ? forks() : threads();
		add_one(ended);
		wait_until(ended, 4);
		_exit(0);
	}
	wait_until(born, 7);
	printf("born %d %d %d\n", inner[0], inner[1], inner[2]);
	fflush(stdout);
	char line[64];
	check(fgets(line, sizeof(line), stdin) != NULL, "standard input");
	add_one(stop);
	wait_until(ended, 3);
	say("total", *total);
	wait_for_go("done");
	add_one(ended);
	reap_all();
	return 0;
}
