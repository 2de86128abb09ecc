/* A seccomp filter answers: 13 getppid with EPERM, 17 getpgid with errno 4000, 19 getsid with
 * errno 0, 23 i386 getpid with EACCES; and 5 children whose first 7 calls are `clone`s that return
 * 0 without making anybody. */
#include "workload.h"
#include "filter.h"
#include "int80.h"

int main(void)
{
	wait_for_go("ready");
	allow_filters();
	filter_call(AUDIT_ARCH_X86_64, SYS_getppid, SECCOMP_RET_ERRNO | EPERM);
	filter_call(AUDIT_ARCH_X86_64, SYS_getpgid, SECCOMP_RET_ERRNO | 4000);
	filter_call(AUDIT_ARCH_X86_64, SYS_getsid, SECCOMP_RET_ERRNO | 0);
	filter_call(AUDIT_ARCH_I386, 20, SECCOMP_RET_ERRNO | EACCES);
	filter_call(AUDIT_ARCH_X86_64, SYS_clone, SECCOMP_RET_ERRNO | 0);
	getppids(13);
	getpgids(17);
	for (int i = 0; i < 19; i++)
		syscall(SYS_getsid, 0);
	for (int i = 0; i < 23; i++)
		check(int80(20, 0) == -EACCES, "int80");
	for (int i = 0; i < 5; i++) {
		pid_t pid = syscall(SYS_fork);
		if (!pid) {
			for (int k = 0; k < 7; k++)
				syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
			_exit(0);
		}
		reap(pid);
	}
	wait_for_go("done");
	return 0;
}
