/* 3 children and 2 threads of each, all in pause until a SIGKILL: 9 pauses that end, none of which returns. */
#include "workload.h"

static void *in_pause(void *unused)
{
	syscall(SYS_pause);
	exit(97);
}

int main(void)
{
	pid_t pids[3];

	wait_for_go("ready");
	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			pthread_t thread;
			check(!pthread_create(&thread, NULL, in_pause, NULL), "thread");
			check(!pthread_create(&thread, NULL, in_pause, NULL), "thread");
			in_pause(NULL);
		}
	}
	wait_for_go("waiting");
	for (int i = 0; i < 3; i++) {
		kill(pids[i], SIGKILL);
		reap(pids[i]);
	}
	wait_for_go("done");
	return 0;
}
