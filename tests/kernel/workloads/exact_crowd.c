/* exact_crowd CHILDREN CALLS: so many children live together, waiting without a call; each then makes
 * a child, and all of them make CALLS calls. Of any other kind are only clone and exit: one each. */
#include "tree.h"

int main(int argc, char **argv)
{
	volatile int *go = shared(4096);

	check(argc == 3, "usage");
	int children = atoi(argv[1]), calls = atoi(argv[2]);

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	wait_for_go("ready");
	for (int i = 0; i < children; i++)
		if (!fork_quietly()) {
			while (!*go)
				;
			fork_quietly();
			getppids(calls);
			syscall(SYS_exit, 0);
		}
	*go = 1;
	reap_all();
	wait_for_go("done");
	return 0;
}
