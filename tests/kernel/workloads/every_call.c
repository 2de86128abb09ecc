/* A child makes every call from 0 to 1023 once, by x86_64's or (argument `i386`) i386's numbers. A
 * filter answers all with EPERM, but for the exit_group with status 42 that ends it; and x86_64's 335
 * and 336 are left out: no filter may answer them (Linux, kernel/seccomp.c: uprobes). */
#include "workload.h"
#include "filter.h"
#include "int80.h"

int main(int argc, char **argv)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 42, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog filter = { .len = sizeof(program) / sizeof(*program), .filter = program };
	int status;

	wait_for_go("ready");
	pid_t pid = fork();
	if (!pid) {
		allow_filters();
		check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), "seccomp");
		for (int i = 0; i < 1024; i++) {
			if (argc > 1)
				int80(i, 0);
			else if (i != 335 && i != 336)
				syscall(i, 0);
		}
		for (;;)
			syscall(SYS_exit_group, 42);
	}
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 42, "the child");
	wait_for_go("done");
	return 0;
}
