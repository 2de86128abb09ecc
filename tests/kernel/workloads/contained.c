/* contained CHILDREN CALLS [end]: what a container's program does, unasked: so many children with
 * CALLS getpgid calls each, as many of its own, a word; then it ends, or waits to be ended. */
#include "workload.h"

int main(int argc, char **argv)
{
	check(argc == 3 || argc == 4, "usage");
	long children = atol(argv[1]), calls = atol(argv[2]);

	for (long i = 0; i < children; i++) {
		pid_t pid = fork();
		check(pid >= 0, "fork");
		if (!pid) {
			getpgids(calls);
			_exit(0);
		}
		reap(pid);
	}
	getpgids(calls);
	printf("done\n");
	fflush(stdout);
	while (argc == 3)
		pause();
	return 0;
}
