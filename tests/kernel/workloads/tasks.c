/* Makes tasks in every way there is: 7 fork, 11 vfork, 13 clone, 17 clone3, 19 threads by clone.
 * Each new task makes 3 getpgid calls and ends. */
#include "workload.h"
#include <linux/futex.h>
#include <linux/sched.h>

static char stack[65536] __attribute__((aligned(16)));
static pid_t thread;

static void child(void)
{
	getpgids(3);
	_exit(0);
}

static int thread_main(void *unused)
{
	getpgids(3);
	return 0; /* into SYS_exit, by clone(3) */
}

static void thread_of_ours(void)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		    CLONE_CHILD_CLEARTID;

	thread = 1;
	check(clone(thread_main, stack + sizeof(stack), flags, NULL, NULL, NULL, &thread) > 0, "clone");
	while (__atomic_load_n(&thread, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &thread, FUTEX_WAIT, 1, NULL, NULL, 0);
}

int main(void)
{
	struct clone_args how = { .exit_signal = SIGCHLD };
	pid_t pid;

	wait_for_go("ready");
	for (int i = 0; i < 7; i++) {
		if (!(pid = syscall(SYS_fork)))
			child();
		reap(pid);
	}
	for (int i = 0; i < 11; i++) {
		if (!(pid = vfork()))
			child();
		reap(pid);
	}
	for (int i = 0; i < 13; i++) {
		if (!(pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)))
			child();
		reap(pid);
	}
	for (int i = 0; i < 17; i++) {
		if (!(pid = syscall(SYS_clone3, &how, sizeof(how))))
			child();
		reap(pid);
	}
	for (int i = 0; i < 19; i++)
		thread_of_ours();
	wait_for_go("done");
	return 0;
}
