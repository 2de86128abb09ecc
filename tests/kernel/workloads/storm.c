/* 8 threads make a call that fails and one that does not, in turn, until told to stop; says how
 * many of each they made. */
#include "workload.h"

static volatile int over;

static void *make(void *unused)
{
	long made = 0;

	(void)unused;
	while (!over) {
		syscall(SYS_close, -1);
		getppids(1);
		made++;
	}
	return (void *)made;
}

int main(void)
{
	pthread_t threads[8];
	long total = 0;

	wait_for_go("ready");
	for (int i = 0; i < 8; i++)
		check(!pthread_create(&threads[i], NULL, make, NULL), "pthread_create");
	wait_for_go("storm");
	over = 1;
	for (int i = 0; i < 8; i++) {
		void *made;
		pthread_join(threads[i], &made);
		total += (long)made;
	}
	printf("total %ld\n", total);
	wait_for_go("done");
	return 0;
}
