/* births WAY [CGROUP]: brings one process into the world in this way, which makes 1,009 calls and
 * ends with status 0. Some ways need a process between. */
#include "tree.h"

#define NEVER_LOST 1009

static char stack[1 << 16] __attribute__((aligned(16)));

static int child(void *unused)
{
	(void)unused;
	getppids(NEVER_LOST);
	_exit(0);
}

static void by_clone(int flags)
{
	pid_t pid = clone(child, stack + sizeof(stack), flags | SIGCHLD, NULL);

	check(pid > 0, "clone");
	if (!(flags & CLONE_PARENT))
		reap(pid);
}

static void by_clone3(uint64_t flags, int cgroup)
{
	struct clone_args arguments = { .flags = flags, .exit_signal = SIGCHLD, .cgroup = cgroup };
	pid_t pid = clone3_checked(&arguments);

	if (!pid)
		child(NULL);
	reap(pid);
}

static void by_fork(void)
{
	pid_t pid = fork_checked();

	if (!pid)
		child(NULL);
	reap(pid);
}

static void by_vfork(void)
{
	pid_t pid = vfork();

	if (!pid)
		child(NULL);
	reap(pid);
}

/* The child's parent is ours, not the one that made it. */
static void as_a_sibling(void)
{
	if (!fork_checked()) {
		by_clone(CLONE_PARENT);
		_exit(0);
	}
	reap_all();
}

/* The child goes on when its parent has ended, in a session of its own. */
static void as_a_daemon(void)
{
	int *done = shared(4096);
	pid_t pid = fork_checked();

	if (!pid) {
		pid_t parent = getpid();
		if (!fork_checked()) {
			setsid();
			while (getppid() == parent)
				sched_yield();
			getpgids(NEVER_LOST);
			add_one(done);
			_exit(0);
		}
		_exit(0);
	}
	reap(pid);
	wait_until(done, 1);
}

static void *thread_forks(void *unused)
{
	by_fork();
	return unused;
}

static void by_a_thread(void)
{
	pthread_t other;

	check(!pthread_create(&other, NULL, thread_forks, NULL), "pthread_create");
	pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
	const char *way = argv[1];

	check(argc > 1, "usage");
	wait_for_go("ready");
	if (!strcmp(way, "fork"))
		by_fork();
	else if (!strcmp(way, "vfork"))
		by_vfork();
	else if (!strcmp(way, "vm"))
		by_clone(CLONE_VM);
	else if (!strcmp(way, "parent"))
		as_a_sibling();
	else if (!strcmp(way, "clone3"))
		by_clone3(0, 0);
	else if (!strcmp(way, "cgroup"))
		by_clone3(CLONE_INTO_CGROUP, open(argv[2], O_RDONLY | O_DIRECTORY));
	else if (!strcmp(way, "newpid"))
		by_clone(CLONE_NEWPID);
	else if (!strcmp(way, "newuser"))
		by_clone(CLONE_NEWUSER);
	else if (!strcmp(way, "newuser+newpid"))
		by_clone(CLONE_NEWUSER | CLONE_NEWPID);
	else if (!strcmp(way, "daemon"))
		as_a_daemon();
	else if (!strcmp(way, "thread"))
		by_a_thread();
	else
		check(0, way);
	wait_for_go("done");
	return 0;
}
