/* 3 children that restrict themselves with landlock: files of this kind are not for them. */
#include "workload.h"
#include <linux/landlock.h>

int main(void)
{
	struct landlock_ruleset_attr rules = { .handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK };

	wait_for_go("ready");
	getppids(7);
	for (int i = 0; i < 3; i++) {
		pid_t pid = syscall(SYS_fork);
		if (!pid) {
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			int ruleset = syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
			syscall(SYS_landlock_restrict_self, ruleset, 0);
			_exit(0);
		}
		reap(pid);
	}
	wait_for_go("done");
	return 0;
}
