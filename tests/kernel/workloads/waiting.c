/* 5 threads in a futex, 7 in nanosleep, 3 in readv of a pipe, until they are told to end: those by
 * a wake-up and a byte each, the sleepers by a signal. */
#include "workload.h"
#include <linux/futex.h>
#include <sys/uio.h>
#include <time.h>

static int word, ends[2];

static void *in_futex(void *unused)
{
	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

static void *in_sleep(void *unused)
{
	struct timespec long_time = { .tv_sec = 1000000 };

	syscall(SYS_nanosleep, &long_time, NULL);
	return NULL;
}

static void *in_read(void *unused)
{
	char byte;
	struct iovec piece = { .iov_base = &byte, .iov_len = 1 };

	check(syscall(SYS_readv, ends[0], &piece, 1) == 1, "readv");
	return NULL;
}

static void handler(int signal)
{
}

int main(void)
{
	pthread_t threads[15];
	struct sigaction how = { .sa_handler = handler };

	sigaction(SIGUSR1, &how, NULL);
	check(!pipe(ends), "pipe");
	wait_for_go("ready");
	for (int i = 0; i < 15; i++) {
		void *(*what)(void *) = i < 5 ? in_futex : i < 12 ? in_sleep : in_read;
		check(!pthread_create(&threads[i], NULL, what, NULL), "pthread_create");
	}
	wait_for_go("waiting");
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE, 15, NULL, NULL, 0);
	check(write(ends[1], "xxx", 3) == 3, "write");
	for (int i = 5; i < 12; i++)
		pthread_kill(threads[i], SIGUSR1);
	for (int i = 0; i < 15; i++)
		pthread_join(threads[i], NULL);
	wait_for_go("done");
	return 0;
}
