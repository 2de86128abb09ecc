/* inner_number PID: in a PID namespace of its own, a process has this number. */
#include "tree.h"

int main(int argc, char **argv)
{
	pid_t number = argc > 1 ? atoi(argv[1]) : 0;
	struct clone_args first = { .flags = CLONE_NEWPID, .exit_signal = SIGCHLD };
	struct clone_args second = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1
	};
	int *there = shared(4096);

	if (!clone3_checked(&first)) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!clone3_checked(&second)) {
			check(getpid() == number, "number");
			add_one(there);
		}
		for (;;)
			pause();
	}
	wait_until(there, 1);
	wait_for_go("ready");
	return 0;
}
