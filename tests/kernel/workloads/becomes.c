/* Waits to be told, and then becomes the program that it is given. */
#include "workload.h"

int main(int argc, char **argv)
{
	wait_for_go("ready");
	execvp(argv[1], argv + 1);
	return 97;
}
