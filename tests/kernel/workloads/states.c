/* One thread of each kind: one runs, three sleep, two wait for a child that they made by vfork, and
 * one process is stopped. With the two children, which sleep: 6 processes, 9 threads. */
#include "tree.h"

static volatile int spinning;

static void *spin(void *unused)
{
	for (;;)
		spinning = 1;
	return unused;
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void start(void *(*run)(void *))
{
	pthread_t thread;

	check(!pthread_create(&thread, NULL, run, NULL), "pthread_create");
}

int main(void)
{
	int status;

	wait_for_go("ready");
	for (int i = 0; i < 2; i++)
		if (!fork_checked()) {
			if (!vfork())
				for (;;)
					pause();
			_exit(0);
		}
	pid_t stopped = fork_checked();
	if (!stopped)
		sleep_on(NULL);
	kill(stopped, SIGSTOP);
	check(waitpid(stopped, &status, WUNTRACED) == stopped && WIFSTOPPED(status), "waitpid");
	start(sleep_on);
	start(sleep_on);
	start(spin);
	while (!spinning)
		sched_yield();
	wait_for_go("there");
	return 0;
}
