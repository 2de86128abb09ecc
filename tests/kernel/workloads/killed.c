/* Seccomp kills, by argument: `process` 3 children, each at its getppid; `thread` 3 threads, each at
 * its getppid, whose process goes on; `trap` answers 11 getppid with a SIGSYS that is handled. */
#include "workload.h"
#include "filter.h"

static void *killed_thread(void *unused)
{
	getpgids(2);
	filter_call(AUDIT_ARCH_X86_64, SYS_getppid, SECCOMP_RET_KILL_THREAD);
	getppids(1);
	exit(97); /* not reached */
}

static void handler(int signal)
{
}

int main(int argc, char **argv)
{
	wait_for_go("ready");
	allow_filters();
	if (!strcmp(argv[1], "process")) {
		for (int i = 0; i < 3; i++) {
			pid_t pid = fork();
			if (!pid) {
				getpgids(2);
				filter_call(AUDIT_ARCH_X86_64, SYS_getppid, SECCOMP_RET_KILL_PROCESS);
				getppids(1);
				_exit(97);
			}
			int status;
			check(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGSYS, "killed");
		}
	} else if (!strcmp(argv[1], "thread")) {
		for (int i = 0; i < 3; i++) {
			pthread_t thread;
			check(!pthread_create(&thread, NULL, killed_thread, NULL), "thread");
			pthread_join(thread, NULL);
		}
	} else {
		signal(SIGSYS, handler);
		filter_call(AUDIT_ARCH_X86_64, SYS_getppid, SECCOMP_RET_TRAP);
		getppids(11);
	}
	wait_for_go("done");
	return 0;
}
