/* leader_first HOW END STATUS: the first thread ends (by pthread_exit, or by exit(2) with 5), and
 * another makes 1,013 calls after it, 17 more when told, and ends the process: by exit(2), by
 * exit_group(2) or by a signal. Then what is left of it is its status. */
#include "tree.h"

static const char *how_it_ends;
static int status;

static void wait_for_end_of_leader(void)
{
	char path[64], line[512], *state;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	do {
		FILE *file = fopen(path, "r");
		check(file != NULL && fgets(line, sizeof(line), file), path);
		fclose(file);
		state = strrchr(line, ')') + 2;
	} while (*state != 'Z');
}

static void *outlive(void *unused)
{
	wait_for_end_of_leader();
	getppids(1013);
	wait_for_go("alone");
	getppids(17);
	wait_for_go("made");
	if (!strcmp(how_it_ends, "signal"))
		kill(getpid(), status);
	else
		syscall(strcmp(how_it_ends, "exit") ? SYS_exit_group : SYS_exit, status);
	for (;;)
		pause();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t other;

	check(argc == 4, "usage");
	how_it_ends = argv[2];
	status = atoi(argv[3]);
	wait_for_go("ready");
	check(!pthread_create(&other, NULL, outlive, NULL), "pthread_create");
	if (!strcmp(argv[1], "pthread_exit"))
		pthread_exit(NULL);
	syscall(SYS_exit, 5);
}
