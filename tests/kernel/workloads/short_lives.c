/* short_lives CHILDREN AT_ONCE CALLS: so many children, so many alive at once, with CALLS calls each. */
#include "tree.h"

int main(int argc, char **argv)
{
	check(argc == 4, "usage");
	int children = atoi(argv[1]), at_once = atoi(argv[2]), calls = atoi(argv[3]), alive = 0;

	wait_for_go("ready");
	for (int i = 0; i < children; i++) {
		if (alive == at_once) {
			check(wait(NULL) > 0, "wait");
			alive--;
		}
		if (!fork_quietly()) {
			getppids(calls);
			syscall(SYS_exit, 0);
		}
		alive++;
	}
	reap_all();
	wait_for_go("done");
	return 0;
}
