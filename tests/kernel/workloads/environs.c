/* environs FILE TIMES AT_ONCE: executes itself with each environment of FILE, TIMES over, in so many
 * processes, so many alive at once; each ends with the number of its environment, from 0.
 *
 * In FILE each environment is a line with its length, and then its variables, a NUL behind each. */
#include "workload.h"

#define MOST_BYTES (2 << 20) /* as the kernel has it, with a stack of 8 MiB */
#define MOST_VARIABLES 65536

static char text[MOST_BYTES];
static char *variables[MOST_VARIABLES + 1];

/* False at the end of the file. */
static int next_environment(FILE *file)
{
	size_t length, number = 0;

	if (fscanf(file, "%zu", &length) != 1)
		return 0;
	check(fgetc(file) == '\n' && length <= MOST_BYTES, "length");
	check(fread(text, 1, length, file) == length, "fread");
	for (char *at = text; at < text + length; at += strlen(at) + 1) {
		check(number < MOST_VARIABLES, "variables");
		variables[number++] = at;
	}
	variables[number] = NULL;
	return 1;
}

static void run(const char *number)
{
	pid_t pid = syscall(SYS_fork);

	check(pid >= 0, "fork");
	if (!pid) {
		execve("/proc/self/exe", (char *[]){ "environs", (char *)number, NULL }, variables);
		_exit(98);
	}
}

int main(int argc, char **argv)
{
	char number[12];
	FILE *file;

	if (argc == 2)
		return atoi(argv[1]);
	check(argc == 4 && (file = fopen(argv[1], "r")), "usage");
	long left = atol(argv[3]);
	wait_for_go("ready");
	for (int environment = 0; next_environment(file); environment++) {
		snprintf(number, sizeof(number), "%d", environment);
		for (long times = atol(argv[2]); times > 0; times--, left--) {
			if (!left) {
				check(wait(NULL) > 0, "wait");
				left++;
			}
			run(number);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
