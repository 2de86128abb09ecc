/* What workloads of many processes share: memory that all of them see, gates that let all waiters
 * go at once, and a call that nothing else on the machine makes. */
#ifndef TREE_H
#define TREE_H

#include "workload.h"
#include <limits.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

/* Nobody waits longer: what a failed test leaves behind ends by itself. */
#define ABANDONED_S 120

/* Zeroed memory that survives forks and is seen by all. */
static inline void *shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	check(memory != MAP_FAILED, "mmap");
	return memory;
}

/* Sleeps until *word is at least `wanted`. */
static inline void wait_until(int *word, int wanted)
{
	struct timespec patience = { .tv_sec = ABANDONED_S };
	int now;

	while ((now = __atomic_load_n(word, __ATOMIC_SEQ_CST)) < wanted)
		if (syscall(SYS_futex, word, FUTEX_WAIT, now, &patience, NULL, 0) && errno == ETIMEDOUT)
			_exit(97);
}

/* Adds one, and wakes those who wait for it. */
static inline int add_one(int *word)
{
	int now = __atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);

	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return now;
}

/* A call that only these workloads make: the measure where all of a machine is followed. */
static inline void rare_calls(long n)
{
	struct timespec interval;

	while (n-- > 0)
		syscall(SYS_sched_rr_get_interval, 0, &interval);
}

/* Says `word` and numbers, without waiting. */
static inline void say(const char *word, long number)
{
	printf("%s %ld\n", word, number);
	fflush(stdout);
}

static inline pid_t fork_checked(void)
{
	pid_t pid = fork();

	check(pid >= 0, "fork");
	return pid;
}

/* Without what the C library does in a child: its first call is its own. */
static inline pid_t fork_quietly(void)
{
	pid_t pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	check(pid >= 0, "clone");
	return pid;
}

static inline pid_t clone3_checked(struct clone_args *arguments)
{
	pid_t pid = syscall(SYS_clone3, arguments, sizeof(*arguments));

	check(pid >= 0, "clone3");
	return pid;
}

static inline void reap_all(void)
{
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
}

#endif
