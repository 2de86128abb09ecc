/* Numbers that are odd: 7 times −1, 5 times x32's getpid (on a kernel without x32), 3 times a
 * number of 28 bits; and 11 times getpgid's with the upper half of the register set, which the
 * kernel does not look at. */
#include "workload.h"

int main(void)
{
	wait_for_go("ready");
	for (int i = 0; i < 7; i++)
		check(syscall(-1L) == -1 && errno == ENOSYS, "-1");
	for (int i = 0; i < 5; i++)
		check(syscall(0x40000000L | SYS_getpid) == -1 && errno == ENOSYS, "x32");
	for (int i = 0; i < 3; i++)
		check(syscall(0x0fffffffL) == -1 && errno == ENOSYS, "28 bits");
	for (int i = 0; i < 11; i++)
		check(syscall(0x100000000L | SYS_getpgid, 0) >= 0, "upper half");
	wait_for_go("done");
	return 0;
}
