/* `crowd PROCESSES TIMES`: so many children, whose PIDs it prints; after a line on standard input
 * each makes 60 different system calls TIMES times, harmlessly, and sleeps. With TIMES 0 they only
 * sleep. The calls are named by number and given arguments that make them cheap: some fail, and
 * always in the same way. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct { int number; long first; } calls[] = {
	/* about oneself */
	{ SYS_getpid, 0 }, { SYS_gettid, 0 }, { SYS_getppid, 0 }, { SYS_getuid, 0 },
	{ SYS_geteuid, 0 }, { SYS_getgid, 0 }, { SYS_getegid, 0 }, { SYS_getpgid, 0 },
	{ SYS_getsid, 0 }, { SYS_getpriority, 0 }, { SYS_getrlimit, -1 }, { SYS_getrusage, -9 },
	{ SYS_getgroups, 0 }, { SYS_getresuid, 0 }, { SYS_getresgid, 0 }, { SYS_getcpu, 0 },
	{ SYS_umask, 022 }, { SYS_sched_yield, 0 }, { SYS_sched_getscheduler, 0 },
	{ SYS_sched_getparam, -1 }, { SYS_sched_get_priority_max, 0 },
	{ SYS_sched_get_priority_min, 0 }, { SYS_brk, 0 }, { SYS_timer_delete, -1 },
	{ SYS_getitimer, -1 }, { SYS_personality, 0xffffffff }, { SYS_capget, 0 },
	{ SYS_times, 0 }, { SYS_clock_getres, -1 }, { SYS_sync_file_range, -1 },
	/* of a descriptor that is none */
	{ SYS_read, -1 }, { SYS_write, -1 }, { SYS_close, -1 }, { SYS_fstat, -1 },
	{ SYS_lseek, -1 }, { SYS_ioctl, -1 }, { SYS_fcntl, -1 }, { SYS_fsync, -1 },
	{ SYS_fdatasync, -1 }, { SYS_ftruncate, -1 }, { SYS_fchmod, -1 }, { SYS_fchown, -1 },
	{ SYS_flock, -1 }, { SYS_dup, -1 }, { SYS_readv, -1 }, { SYS_writev, -1 },
	{ SYS_pread64, -1 }, { SYS_pwrite64, -1 }, { SYS_sendto, -1 }, { SYS_recvfrom, -1 },
	{ SYS_listen, -1 }, { SYS_shutdown, -1 }, { SYS_getsockname, -1 }, { SYS_getpeername, -1 },
	{ SYS_fchdir, -1 }, { SYS_getdents64, -1 }, { SYS_fadvise64, -1 }, { SYS_fallocate, -1 },
	{ SYS_epoll_ctl, -1 }, { SYS_inotify_rm_watch, -1 },
};

static void child(int gate, int done, long times)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(gate, &byte, 1) > 0)
		;
	for (long time = 0; time < times; time++)
		for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
			syscall(calls[i].number, calls[i].first, 0, 0, 0, 0, 0);
	close(done);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	long processes = argc > 1 ? atol(argv[1]) : 1, times = argc > 2 ? atol(argv[2]) : 0;
	int gate[2], done[2];
	char line[64];

	if (pipe(gate) || pipe(done))
		return 1;
	printf("crowd %d", getpid());
	fflush(stdout);
	for (long i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid) {
			close(gate[1]);
			close(done[0]);
			child(gate[0], done[1], times);
		}
		printf(" %d", pid);
	}
	printf("\n");
	fflush(stdout);
	close(done[1]);
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	close(gate[1]); /* all at once */
	if (read(done[0], line, 1))
		return 1;
	printf("done\n");
	fflush(stdout);
	return !fgets(line, sizeof(line), stdin); /* stays until told */
}
