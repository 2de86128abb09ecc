/* A bit of all: 3 children with 101 getppid, 53 close that fail, 7 sleeps of 20 ms by themselves,
 * 11 i386 calls of getpgid (132), 5 unknown numbers and a signal. */
#include "workload.h"
#include "int80.h"
#include <time.h>

static void handler(int signal)
{
}

int main(void)
{
	struct timespec a_while = { .tv_nsec = 20000000 };

	signal(SIGUSR1, handler);
	wait_for_go("ready");
	for (int i = 0; i < 3; i++) {
		pid_t pid = syscall(SYS_fork);
		if (!pid) {
			getppids(101);
			for (int k = 0; k < 53; k++)
				syscall(SYS_close, -1);
			for (int k = 0; k < 7; k++)
				syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &a_while, NULL);
			for (int k = 0; k < 11; k++)
				int80(132, 0);
			for (int k = 0; k < 5; k++)
				syscall(2000 + k);
			syscall(SYS_kill, getpid(), SIGUSR1);
			_exit(0);
		}
		reap(pid);
	}
	wait_for_go("done");
	return 0;
}
