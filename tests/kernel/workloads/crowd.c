/* crowd CHILDREN LEFT: told, so many children are born, live together, make 101 calls each; told
 * again, all but LEFT of them end; told again, the rest makes 103 calls each. */
#include "tree.h"

int main(int argc, char **argv)
{
	int *born = shared(4096), *go = born + 1, *made = born + 2, *made_again = born + 3;

	check(argc == 3, "usage");
	int children = atoi(argv[1]), left = atoi(argv[2]);

	wait_for_go("ready");
	for (int i = 0; i < children; i++) {
		if (fork_checked())
			continue;
		add_one(born);
		wait_until(go, 1);
		getppids(101);
		add_one(made);
		wait_until(go, 2);
		if (i < children - left)
			_exit(0);
		wait_until(go, 3);
		getppids(103);
		add_one(made_again);
		wait_until(go, 4);
		_exit(0);
	}
	wait_until(born, children);
	wait_for_go("born");
	add_one(go);
	wait_until(made, children);
	wait_for_go("made");
	add_one(go);
	for (int i = 0; i < children - left; i++)
		wait(NULL);
	wait_for_go("fewer");
	add_one(go);
	wait_until(made_again, left);
	wait_for_go("again");
	add_one(go);
	reap_all();
	return 0;
}
