/* Results that look negative and are none: 17 times lseek in /proc/self/mem to −8192, 13 times to
 * −4096, which is one below the last error. 19 mmap. And one that is: 11 lseek of no file. */
#include "workload.h"

int main(void)
{
	int memory = open("/proc/self/mem", O_RDONLY);

	check(memory >= 0, "/proc/self/mem");
	wait_for_go("ready");
	for (int i = 0; i < 17; i++)
		check(lseek(memory, -8192, SEEK_SET) == -8192, "lseek");
	for (int i = 0; i < 13; i++)
		check(lseek(memory, -4096, SEEK_SET) == -4096, "lseek");
	for (int i = 0; i < 11; i++)
		check(lseek(-1, 0, SEEK_SET) == -1 && errno == EBADF, "lseek");
	for (int i = 0; i < 19; i++)
		check(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED, "mmap");
	wait_for_go("done");
	return 0;
}
