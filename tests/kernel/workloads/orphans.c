/* orphans PARENTS CHILDREN CALLS: told once, the parents end, and others adopt their children.
 * Told twice, each of the children makes CALLS calls. */
#include "tree.h"

int main(int argc, char **argv)
{
	int *born = shared(4096), *end = born + 1, *go = born + 2, *made = born + 3;

	check(argc == 4, "usage");
	int parents = atoi(argv[1]), children = atoi(argv[2]), calls = atoi(argv[3]);

	for (int i = 0; i < parents; i++) {
		if (fork_checked())
			continue;
		for (int j = 0; j < children; j++)
			if (!fork_checked()) {
				add_one(born);
				wait_until(go, 1);
				getppids(calls);
				add_one(made);
				_exit(0);
			}
		wait_until(end, 1);
		_exit(0);
	}
	wait_until(born, parents * children);
	wait_for_go("ready");
	add_one(end);
	reap_all();
	wait_for_go("orphaned");
	add_one(go);
	wait_until(made, parents * children);
	wait_for_go("done");
	return 0;
}
