/* tenants COUNT CALLS FOLDER: makes COUNT cgroups, 1, 2, … in FOLDER, with a child in each. At each word
 * each makes CALLS getpgid calls and as many more as its cgroup's name says, modulo 97. They end with
 * their parent. */
#include "tree.h"

int main(int argc, char **argv)
{
	check(argc == 4, "usage");
	long count = atol(argv[1]), calls = atol(argv[2]);
	int *here = shared(sizeof(int)), *round = shared(sizeof(int)), *made = shared(sizeof(int));
	char path[PATH_MAX];

	for (long name = 1; name <= count; name++) {
		snprintf(path, sizeof(path), "%s/%ld", argv[3], name);
		check(!mkdir(path, 0755), path);
		strcat(path, "/cgroup.procs");
		if (fork_checked())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		check(fd >= 0 && write(fd, "0", 1) == 1, path);
		for (int turn = 1; add_one(here); turn++) {
			wait_until(round, turn);
			getpgids(calls + name % 97);
			add_one(made);
		}
	}
	for (int turn = 1;; turn++) {
		wait_until(here, turn * count);
		wait_for_go(turn == 1 ? "ready" : "done");
		add_one(round);
		wait_until(made, turn * count);
	}
}
