/* Waits where signals find it, by argument; each handled signal is answered with a line `signal`.
 * `pause`, `sleep`, `epoll`: 5 calls, each ended by a signal. `read`: readv of an empty pipe, 5 times ended by
 * a signal. `restart`: the same with SA_RESTART, one readv that gets its byte from the handler of
 * the 6th signal. `stopped`: one sleep that goes on after each stop, and is ended by a signal. */
#include "workload.h"
#include <sys/epoll.h>
#include <sys/uio.h>
#include <time.h>

static int ends[2], signals, last;

static void handler(int signal)
{
	if (++signals == last)
		check(write(ends[1], "x", 1) == 1, "write");
	check(write(1, "signal\n", 7) == 7, "write");
}

static void one(const char *what, int epoll)
{
	struct timespec long_time = { .tv_sec = 1000000 };
	struct epoll_event event;
	struct iovec piece = { .iov_base = &event, .iov_len = 1 };

	if (!strcmp(what, "pause"))
		syscall(SYS_pause);
	else if (!strcmp(what, "sleep") || !strcmp(what, "stopped"))
		syscall(SYS_nanosleep, &long_time, NULL);
	else if (!strcmp(what, "epoll"))
		syscall(SYS_epoll_wait, epoll, &event, 1, -1);
	else
		syscall(SYS_readv, ends[0], &piece, 1);
}

int main(int argc, char **argv)
{
	const char *what = argv[1];
	struct sigaction how = { .sa_handler = handler };
	int epoll = epoll_create1(0), once = !strcmp(what, "restart") || !strcmp(what, "stopped");

	check(!pipe(ends), "pipe");
	if (!strcmp(what, "restart")) {
		how.sa_flags = SA_RESTART;
		last = 6;
	}
	sigaction(SIGUSR1, &how, NULL);
	wait_for_go("ready");
	for (int i = 0; i < (once ? 1 : 5); i++)
		one(what, epoll);
	wait_for_go("done");
	return 0;
}
