/* 52 signals handled: 29 as they come, 23 whose handler leaves -4 (EINTR) in the register that
 * rt_sigreturn restores as the result. */
#include "workload.h"
#include <ucontext.h>

static volatile int poison;

static void handler(int signal, siginfo_t *info, void *context)
{
	if (poison)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EINTR;
}

int main(void)
{
	struct sigaction how = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	pid_t self = getpid();

	sigaction(SIGUSR1, &how, NULL);
	wait_for_go("ready");
	for (int i = 0; i < 29; i++)
		check(syscall(SYS_tgkill, self, self, SIGUSR1) == 0, "tgkill");
	poison = 1;
	for (int i = 0; i < 23; i++)
		check(syscall(SYS_tgkill, self, self, SIGUSR1) == -1 && errno == EINTR, "poison");
	wait_for_go("done");
	return 0;
}
