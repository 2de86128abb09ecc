/* A child says its number; told, it makes a sibling of itself (CLONE_PARENT); told again, that makes
 * 1,009 calls. By parent PIDs there is no way from the child to its sibling. */
#include "tree.h"

int main(void)
{
	int *told = shared(4096), *born = told + 1, *made = told + 2;
	pid_t root = fork_checked();

	if (!root) {
		struct clone_args arguments = { .flags = CLONE_PARENT };
		wait_until(told, 1);
		if (!clone3_checked(&arguments)) {
			add_one(born);
			wait_until(told, 2);
			getppids(1009);
			add_one(made);
			wait_until(told, 3);
			_exit(0);
		}
		wait_until(told, 3);
		_exit(0);
	}
	say("root", root);
	wait_for_go("ready");
	add_one(told);
	wait_until(born, 1);
	wait_for_go("born");
	add_one(told);
	wait_until(made, 1);
	wait_for_go("done");
	add_one(told);
	reap_all();
	return 0;
}
