/* Two children that wait in pause, the second born when the first was seen. */
#include "workload.h"

int main(void)
{
	wait_for_go("ready");
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			syscall(SYS_pause);
			exit(97);
		}
		wait_for_go("born");
	}
	return 0;
}
