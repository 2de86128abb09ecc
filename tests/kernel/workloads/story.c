/* story STEP…: does one after the other, and ends with 0.
 *
 *   17            makes so many getppid calls
 *   wait          says `ready`, and waits for a line
 *   fork          goes on in a child, and waits for its end
 *   thread=STEPS  makes so many sleeps of 1 ms in another thread
 *   sleep=MS      sleeps, by one clock_nanosleep
 *   missing=PATH  tries to open what is not there
 *   bad=17        tries to close so many descriptors that are not there
 *   sync=PATH     opens, writes and syncs a file
 *   setsid, setpgid  as the calls
 *   exec PROGRAM ARGUMENT…  executes another program
 *   exit=3        ends with this
 *   kill=9        ends by this signal
 *
 * It is for linking statically, so that it makes no calls of its own. */
#include "workload.h"
#include <time.h>

static const char *value_of(const char *step, const char *key)
{
	size_t length = strlen(key);

	return strncmp(step, key, length) || step[length] != '=' ? NULL : step + length + 1;
}

static void nap(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	check(!syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL), "clock_nanosleep");
}

static void *naps(void *number)
{
	for (long i = 0; i < (long)number; i++)
		nap(1);
	return NULL;
}

static void sync_file(const char *path)
{
	int fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600);

	check(fd >= 0 && write(fd, "x", 1) == 1 && !syscall(SYS_fsync, fd), "sync");
	close(fd);
}

int main(int argc, char **argv)
{
	for (char **step = argv + 1; *step; step++) {
		const char *value;

		if (**step >= '0' && **step <= '9') {
			getppids(atol(*step));
		} else if (!strcmp(*step, "wait")) {
			wait_for_go("ready");
		} else if (!strcmp(*step, "fork")) {
			pid_t pid = syscall(SYS_fork);
			check(pid >= 0, "fork");
			if (pid) {
				reap(pid);
				exit(0);
			}
		} else if ((value = value_of(*step, "thread"))) {
			pthread_t thread;
			check(!pthread_create(&thread, NULL, naps, (void *)atol(value)), "pthread_create");
			pthread_join(thread, NULL);
		} else if ((value = value_of(*step, "sleep"))) {
			nap(atol(value));
		} else if ((value = value_of(*step, "missing"))) {
			check(syscall(SYS_openat, AT_FDCWD, value, O_RDONLY) < 0, "it is there");
		} else if ((value = value_of(*step, "bad"))) {
			for (long n = atol(value); n > 0; n--)
				check(syscall(SYS_close, 1000000) < 0, "it is open");
		} else if ((value = value_of(*step, "sync"))) {
			sync_file(value);
		} else if (!strcmp(*step, "setsid")) {
			check(syscall(SYS_setsid) >= 0, "setsid");
		} else if (!strcmp(*step, "setpgid")) {
			check(!syscall(SYS_setpgid, 0, 0), "setpgid");
		} else if (!strcmp(*step, "exec")) {
			execv(step[1], step + 1);
			check(0, "exec");
		} else if ((value = value_of(*step, "exit"))) {
			exit(atoi(value));
		} else if ((value = value_of(*step, "kill"))) {
			kill(getpid(), atoi(value));
		} else {
			check(**step == '-' || **step == '/', *step);
		}
	}
	return 0;
}
