/* mover FILE…: 8 threads make 1,009 calls each and a child makes 101; then the process writes its
 * number into the next FILE (a cgroup.procs), and at once they do so again, until all are done.
 * Between, the threads wait without a call, so that their next one comes right after the move. */
#include "tree.h"

static volatile int turn;
static int arrived;

static void *caller(void *rounds)
{
	for (int i = 1; i <= *(int *)rounds; i++) {
		while (turn < i)
			;
		getppids(1009);
		__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void fork_one(void)
{
	pid_t pid = fork_checked();

	if (!pid) {
		getppids(101);
		_exit(0);
	}
	reap(pid);
}

static void move_to(const char *path)
{
	char text[16];
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	check(fd >= 0, path);
	check(write(fd, text, snprintf(text, sizeof(text), "%d", getpid())) > 0, path);
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_t threads[8];

	wait_for_go("ready");
	for (int i = 0; i < 8; i++)
		check(!pthread_create(&threads[i], NULL, caller, &argc), "pthread_create");
	for (int i = 1; i <= argc; i++) {
		if (i > 1)
			move_to(argv[i - 1]);
		turn = i;
		fork_one();
		while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < 8 * i)
			sched_yield();
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	wait_for_go("done");
	return 0;
}
