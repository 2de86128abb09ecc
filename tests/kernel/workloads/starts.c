/* Starts the program that it is given, 3 times, each in a child that first makes 5 getppid calls. */
#include "workload.h"

int main(int argc, char **argv)
{
	wait_for_go("ready");
	for (int i = 0; i < 3; i++) {
		pid_t pid = syscall(SYS_fork);
		if (!pid) {
			getppids(5);
			syscall(SYS_execve, argv[1], argv + 1, NULL);
			_exit(97);
		}
		int status;
		check(waitpid(pid, &status, 0) == pid && !status, "the program");
	}
	wait_for_go("done");
	return 0;
}
