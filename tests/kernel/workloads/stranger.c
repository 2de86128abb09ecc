/* stranger PID: a process that has this number, chosen, makes 1,013 calls. */
#include "tree.h"

int main(int argc, char **argv)
{
	pid_t number = argc > 1 ? atoi(argv[1]) : 0;
	struct clone_args arguments = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1
	};
	int *go = shared(4096), *made = go + 1;
	long child;

	/* Its last owner may not be quite gone yet. */
	while ((child = syscall(SYS_clone3, &arguments, sizeof(arguments))) < 0 && errno == EEXIST)
		usleep(1000);
	check(child >= 0, "clone3");
	if (!child) {
		wait_until(go, 1);
		getppids(1013);
		add_one(made);
		wait_until(go, 2);
		_exit(0);
	}
	wait_for_go("ready");
	add_one(go);
	wait_until(made, 1);
	wait_for_go("made");
	add_one(go);
	reap_all();
	return 0;
}
