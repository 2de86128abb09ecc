/* i386 calls of a 64-bit program: 31 of number 20 (getpid there, writev here), 7 of 6 (close there,
 * lstat here) that fail with EBADF, 5 of 1000, which no table has. And 37 of its own: getppid. */
#include "workload.h"
#include "int80.h"

int main(void)
{
	int self = getpid();

	wait_for_go("ready");
	for (int i = 0; i < 31; i++)
		check(int80(20, 0) == self, "getpid");
	for (int i = 0; i < 7; i++)
		check(int80(6, -1) == -EBADF, "close");
	for (int i = 0; i < 5; i++)
		check(int80(1000, 0) == -ENOSYS, "unknown");
	getppids(37);
	wait_for_go("done");
	return 0;
}
