/* 17 children: 3 end well, 5 with status 3, 7 by a signal, 2 execute /bin/true. A thread, too. */
#include "tree.h"

static void *thread(void *unused)
{
	return unused;
}

int main(void)
{
	pthread_t other;

	wait_for_go("ready");
	for (int i = 0; i < 17; i++) {
		pid_t pid = fork_checked();
		if (!pid) {
			if (i < 3)
				_exit(0);
			if (i < 8)
				_exit(3);
			if (i < 15)
				raise(SIGTERM);
			execl("/bin/true", "true", NULL);
			_exit(99);
		}
		reap(pid);
	}
	check(!pthread_create(&other, NULL, thread, NULL), "pthread_create");
	pthread_join(other, NULL);
	wait_for_go("done");
	return 0;
}
