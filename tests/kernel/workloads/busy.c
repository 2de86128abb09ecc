/* Makes a getppid call and is then busy in user space, in no call, until SIGUSR1 ends it. A seccomp
 * filter answers 3 `clone` calls with errno 0. And it is busy again, until the next SIGUSR1. */
#include "workload.h"
#include "filter.h"

static volatile int signals;

static void handler(int signal)
{
	signals++;
}

static void busy_until(int n)
{
	check(write(1, "busy\n", 5) == 5, "write");
	getppids(1);
	while (signals < n)
		;
}

int main(void)
{
	signal(SIGUSR1, handler);
	allow_filters();
	filter_call(AUDIT_ARCH_X86_64, SYS_clone, SECCOMP_RET_ERRNO | 0);
	wait_for_go("ready");
	busy_until(1);
	for (int i = 0; i < 3; i++)
		check(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0, "clone");
	busy_until(2);
	wait_for_go("done");
	return 0;
}
