/* Another thread than the first makes 1,009 calls and executes this program anew; that makes 211. */
#include "tree.h"

static char *self;

static void *replace(void *unused)
{
	getppids(1009);
	execl(self, self, "after", NULL);
	check(0, "execl");
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t other;

	self = argv[0];
	if (argc > 1) {
		getppids(211);
		wait_for_go("after");
		return 0;
	}
	wait_for_go("ready");
	check(!pthread_create(&other, NULL, replace, NULL), "pthread_create");
	for (;;)
		pause();
}
