/* What all workloads share: they say who they are, wait for a word on standard input, make a known
 * number of calls, and say that they are done. Calls are made with syscall(2), so that the C
 * library adds none of its own. Numbers are prime where they can be: a sum of wrong ones shows. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two calls that nothing makes by itself: the measure of exactness. */
static inline void getppids(long n)
{
	while (n-- > 0)
		syscall(SYS_getppid);
}

static inline void getpgids(long n)
{
	while (n-- > 0)
		syscall(SYS_getpgid, 0);
}

/* Says `word` and the PID, then waits for a line. */
static inline void wait_for_go(const char *word)
{
	char line[64];

	printf("%s %d\n", word, getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(99);
}

static inline void check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(98);
	}
}

static inline void reap(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, __WALL) == pid, "waitpid");
}

#endif
