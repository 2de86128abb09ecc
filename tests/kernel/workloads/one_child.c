/* Makes a child, says its number; told, the child makes 101 calls and ends. */
#include "tree.h"

int main(void)
{
	int *go = shared(4096);
	pid_t pid = fork_checked();

	if (!pid) {
		wait_until(go, 1);
		getppids(101);
		_exit(0);
	}
	say("child", pid);
	wait_for_go("ready");
	add_one(go);
	reap(pid);
	wait_for_go("gone");
	return 0;
}
