/* 20,000 made-up numbers: 512 to 20,511, none of which any table has. */
#include "workload.h"
#include "int80.h"

int main(int argc, char **argv)
{
	wait_for_go("ready");
	getppids(3);
	wait_for_go("before");
	for (int i = 512; i < 20512; i++)
		check(argc > 1 ? int80(i, 0) == -ENOSYS : syscall(i) == -1 && errno == ENOSYS, "ENOSYS");
	wait_for_go("made");
	getppids(41);
	getpgids(43);
	wait_for_go("done");
	return 0;
}
