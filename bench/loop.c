/* The hot path and nothing else. For each line "BATCHES CALLS" on standard input: so many batches
 * of so many getppid calls, and the fastest batch in ns per call. Batches are short, so that some
 * are disturbed neither by the timer nor by neighbours. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now); /* by the vDSO: no system call */
	return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	long batches, calls;

	CPU_ZERO(&one);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		perror("sched_setaffinity");
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("loop %d\n", getpid());
	while (scanf("%ld %ld", &batches, &calls) == 2) {
		double best = 1e18;

		for (long batch = 0; batch < batches; batch++) {
			double begin = now_ns();

			for (long call = 0; call < calls; call++)
				syscall(SYS_getppid);
			double ns = (now_ns() - begin) / calls;
			if (ns < best)
				best = ns;
		}
		printf("best %.3f\n", best);
	}
	return 0;
}
