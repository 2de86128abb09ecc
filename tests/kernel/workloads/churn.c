/* churn COUNT NAMES CALLS FOLDER…: at each word COUNT cgroups come and go, one after the other, as fast
 * as it can: 1, 2, … NAMES, 1, … in each FOLDER. A child moves itself into them, makes CALLS getpgid
 * calls and as many more as the cgroup's name says, modulo 97, and ends; then they are removed. */
#include "workload.h"
#include <limits.h>

#ifndef SUFFIX
#define SUFFIX ""
#endif

static char path[PATH_MAX];

static const char *path_of(const char *folder, long name, const char *file)
{
	snprintf(path, sizeof(path), "%s/%ld" SUFFIX "%s", folder, name, file);
	return path;
}

static void enter(const char *file)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	check(fd >= 0, file);
	check(write(fd, "0", 1) == 1, file);
}

/* Who has just ended may still be in it. */
static void remove_cgroup(const char *place)
{
	while (rmdir(place))
		check(errno == EBUSY, place);
}

static void come_and_go(long name, long calls, char **folders)
{
	for (char **folder = folders; *folder; folder++)
		check(!mkdir(path_of(*folder, name, ""), 0755), path);
	pid_t pid = fork();
	check(pid >= 0, "fork");
	if (!pid) {
		for (char **folder = folders; *folder; folder++)
			enter(path_of(*folder, name, "/cgroup.procs"));
		getpgids(calls + name % 97);
		_exit(0);
	}
	reap(pid);
	for (char **folder = folders; *folder; folder++)
		remove_cgroup(path_of(*folder, name, ""));
}

int main(int argc, char **argv)
{
	check(argc > 4, "usage");
	long count = atol(argv[1]), names = atol(argv[2]), calls = atol(argv[3]), so_far = 0;

	wait_for_go("ready");
	for (;;) {
		for (long i = 0; i < count; i++)
			come_and_go(so_far++ % names + 1, calls, argv + 4);
		wait_for_go("done");
	}
}
