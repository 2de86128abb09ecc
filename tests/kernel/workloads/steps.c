/* steps STEP…: does one after the other, and ends.
 *
 *   17            makes so many getppid calls
 *   wait          says `ready`, and waits for a line
 *   fork          goes on in a child, and waits for its end
 *   orphan        goes on in a child, and ends at once
 *   name=NAME     calls itself so, by prctl
 *   uid=NUMBER    becomes this user
 *   chroot=FOLDER, pivot=FOLDER  has this as its root; `pivot` in a mount namespace of its own
 *   exec PROGRAM ARGUMENT…       executes another program
 *   memfd STEP…   executes a copy of itself that is in memory
 *   unlinked=FILE STEP…          executes this file, which is deleted before
 *   -…, /…        nothing
 *
 * It is for linking statically, so that it makes no calls of its own. */
#include "workload.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/sendfile.h>

extern char **environ;

static const char *value_of(const char *step, const char *key)
{
	size_t length = strlen(key);

	return strncmp(step, key, length) || step[length] != '=' ? NULL : step + length + 1;
}

static void go_on_in_child(int wait_for_it)
{
	pid_t pid = syscall(SYS_fork);

	check(pid >= 0, "fork");
	if (!pid)
		return;
	if (wait_for_it)
		reap(pid);
	_exit(0);
}

static void pivot(const char *folder)
{
	check(!unshare(CLONE_NEWNS), "unshare");
	check(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	check(!mount(folder, folder, NULL, MS_BIND, NULL), "bind");
	check(!chdir(folder), "chdir");
	check(!syscall(SYS_pivot_root, ".", "."), "pivot_root");
	check(!umount2(".", MNT_DETACH), "umount");
	check(!chdir("/"), "chdir");
}

static int copy_in_memory(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = memfd_create("in memory", MFD_CLOEXEC);
	struct stat status;

	check(from >= 0 && to >= 0 && !fstat(from, &status), "memfd");
	check(sendfile(to, from, NULL, status.st_size) == status.st_size, "sendfile");
	return to;
}

static int open_and_unlink(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	check(fd >= 0 && !unlink(file), "unlink");
	return fd;
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
			go_on_in_child(1);
		} else if (!strcmp(*step, "orphan")) {
			go_on_in_child(0);
		} else if ((value = value_of(*step, "name"))) {
			check(!prctl(PR_SET_NAME, value), "prctl");
		} else if ((value = value_of(*step, "uid"))) {
			check(!setresuid(atol(value), atol(value), atol(value)), "setresuid");
		} else if ((value = value_of(*step, "chroot"))) {
			check(!chroot(value) && !chdir("/"), "chroot");
		} else if ((value = value_of(*step, "pivot"))) {
			pivot(value);
		} else if (!strcmp(*step, "exec")) {
			execv(step[1], step + 1);
			check(0, "exec");
		} else if (!strcmp(*step, "memfd")) {
			fexecve(copy_in_memory(), step, environ);
			check(0, "fexecve");
		} else if ((value = value_of(*step, "unlinked"))) {
			fexecve(open_and_unlink(value), step, environ);
			check(0, "fexecve");
		} else {
			check(**step == '-' || **step == '/', *step);
		}
	}
	return 0;
}
