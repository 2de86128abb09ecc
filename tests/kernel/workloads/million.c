/* 16 children, 62,500 getppid calls each: exactly a million. */
#include "workload.h"

int main(void)
{
	wait_for_go("ready");
	for (int i = 0; i < 16; i++) {
		if (!fork()) {
			getppids(62500);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	wait_for_go("done");
	return 0;
}
