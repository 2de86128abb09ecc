/* shapes DEPTH WIDTH CALLS: a chain of DEPTH processes, and WIDTH children of the last. They exist
 * before they are told to go; then each of them, but not the first, makes CALLS calls. */
#include "tree.h"

static int *born, *go, *made;

static void make_calls(long calls)
{
	wait_until(go, 1);
	getppids(calls);
	add_one(made);
}

int main(int argc, char **argv)
{
	check(argc == 4, "usage");
	int depth = atoi(argv[1]), width = atoi(argv[2]), calls = atoi(argv[3]);

	born = shared(4096);
	go = born + 1;
	made = born + 2;
	for (int level = 0; level < depth; level++) {
		if (fork_checked())
			break;
		if (level == depth - 1)
			for (int i = 0; i < width; i++)
				if (!fork_checked()) {
					add_one(born);
					make_calls(calls);
					_exit(0);
				}
		add_one(born);
		if (level < depth - 1)
			continue;
		make_calls(calls);
		reap_all();
		_exit(0);
	}
	if (*born && getpid() != getpgrp()) {
		make_calls(calls);
		reap_all();
		_exit(0);
	}
	wait_until(born, depth + width);
	wait_for_go("ready");
	add_one(go);
	wait_until(made, depth + width);
	wait_for_go("done");
	return 0;
}
