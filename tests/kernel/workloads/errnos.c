/* A filter answers getpgid(n) with errno n: 3,000 made-up ones (1000 to 3999); 7 times 133
 * (EHWPOISON, the last of the table), 5 times 524 (ENOTSUPP, which is not for programs and is seen
 * by them), 3 times 515 (ENOIOCTLCMD, which is not); and each of the kernel's 4 restart codes 11 times. */
#include "workload.h"
#include "filter.h"

static void answer(int n, int times)
{
	while (times--)
		check(syscall(SYS_getpgid, n) == -1 && errno == n, "errno");
}

int main(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(program) / sizeof(*program), .filter = program };

	wait_for_go("ready");
	allow_filters();
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), "seccomp");
	wait_for_go("before");
	for (int n = 1000; n < 4000; n++)
		answer(n, 1);
	answer(133, 7);
	answer(524, 5);
	answer(515, 3);
	for (int n = 512; n <= 516; n++) {
		if (n != 515)
			answer(n, 11);
	}
	wait_for_go("done");
	return 0;
}
