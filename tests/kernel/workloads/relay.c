/* relay PAUSE_US ORDER [held]: a chain in which each process makes its successor and ends, forever.
 * The first one stays and adopts them. When told, the one that lives then makes 11 children, and each
 * of them makes 1,009 calls. ORDER down: each successor gets a smaller number than its parent, so
 * that who reads the list of processes upwards has passed it already. held: says who begins the chain,
 * and begins it when told. */
#include "tree.h"

static int *begun, *told, *made, *steps;
static time_t deadline;

static void choose_lower_number(void)
{
	char text[16];
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	int next = getpid() - 2 > 1000 ? getpid() - 2 : 30000;

	check(fd >= 0, "ns_last_pid");
	check(write(fd, text, snprintf(text, sizeof(text), "%d", next)) > 0, "ns_last_pid");
	close(fd);
}

static void run(int pause_us, int down)
{
	for (;;) {
		__atomic_add_fetch(steps, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(told, __ATOMIC_SEQ_CST))
			break;
		if (time(NULL) > deadline)
			_exit(97);
		if (pause_us)
			usleep(pause_us);
		if (down)
			choose_lower_number();
		if (fork_checked())
			_exit(0);
	}
	for (int i = 0; i < 11; i++)
		if (!fork_checked()) {
			getppids(1009);
			_exit(0);
		}
	reap_all();
	add_one(made);
	_exit(0);
}

int main(int argc, char **argv)
{
	check(argc == 3 || argc == 4, "usage");
	told = shared(4096);
	made = told + 1;
	steps = told + 2;
	begun = told + 3;
	deadline = time(NULL) + ABANDONED_S;
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t first = fork_checked();
	if (!first) {
		signal(SIGCHLD, SIG_DFL);
		wait_until(begun, 1);
		run(atoi(argv[1]), !strcmp(argv[2], "down"));
	}
	if (argc == 4) {
		say("first", first);
		wait_for_go("held");
	}
	add_one(begun);
	wait_for_go("ready");
	add_one(told);
	wait_until(made, 1);
	say("steps", *steps);
	wait_for_go("done");
	return 0;
}
