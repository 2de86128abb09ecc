/* One process of 8 threads: 7 make 1,009 calls each, the first one 13. */
#include "tree.h"

static int *made, *end;

static void *run(void *unused)
{
	getppids(1009);
	add_one(made);
	wait_until(end, 1);
	return unused;
}

int main(void)
{
	pthread_t threads[7];

	made = shared(4096);
	end = made + 1;
	wait_for_go("ready");
	for (int i = 0; i < 7; i++)
		check(!pthread_create(&threads[i], NULL, run, NULL), "pthread_create");
	wait_until(made, 7);
	getppids(13);
	wait_for_go("made");
	add_one(end);
	for (int i = 0; i < 7; i++)
		pthread_join(threads[i], NULL);
	wait_for_go("joined");
	return 0;
}
