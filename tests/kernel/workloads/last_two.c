/* last_two PROCESSES: so many, one after the other; the two last threads of each end at the same
 * moment, or so nearly that each order and distance comes up: the one or the other first, by a few
 * nanoseconds more each time. */
#include "tree.h"

static volatile int here;

static void meet_and_end(int spins)
{
	__atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
	for (int i = 1; here < 2; i++)
		if (i % 10000 == 0)
			sched_yield(); /* the other one has no CPU yet */
	for (volatile int i = 0; i < spins; i++)
		;
	syscall(SYS_exit, 0);
}

static void *second(void *spins)
{
	meet_and_end(*(int *)spins);
	return NULL;
}

int main(int argc, char **argv)
{
	int processes = argc > 1 ? atoi(argv[1]) : 0;

	wait_for_go("ready");
	for (int i = 0; i < processes; i++) {
		pid_t pid = fork_checked();
		if (!pid) {
			int ahead = i % 1000 - 500, behind = ahead < 0 ? -ahead : 0;
			pthread_t other;
			check(!pthread_create(&other, NULL, second, &behind), "pthread_create");
			meet_and_end(ahead > 0 ? ahead : 0);
		}
		reap(pid);
	}
	wait_for_go("done");
	return 0;
}
