/* Has a child that has ended and that nobody waits for, and a second thread; says the numbers. */
#include "tree.h"

static void *thread(void *said)
{
	say("thread", gettid());
	add_one(said);
	for (;;)
		pause();
	return said;
}

int main(void)
{
	siginfo_t info;
	pthread_t other;
	int said = 0;
	pid_t pid = fork_checked();

	if (!pid)
		_exit(0);
	check(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT), "waitid");
	say("zombie", pid);
	check(!pthread_create(&other, NULL, thread, &said), "pthread_create");
	wait_until(&said, 1);
	wait_for_go("ready");
	return 0;
}
