/* A true i386 program, without a C library, so that no 32-bit one is needed: 20 is getpid (13
 * times), 6 is close (11 times, EBADF). 7 signals come back by sigreturn and 5 by rt_sigreturn,
 * all with -4 (EINTR) left in the register that holds the result. Then it starts the program
 * that it was given, or ends by `exit` (1). */

#define SIGUSR1 10
#define SA_RESTORER 0x04000000u
#define SA_SIGINFO 4u

static long call(long number, long a, long b, long c, long d)
{
	long ret;

	asm volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
	return ret;
}

struct action {
	void *handler;
	unsigned long flags;
	void *restorer;
	unsigned long mask[2];
};

struct context {
	volatile unsigned long before[11], ax; /* struct sigcontext_32 */
};

/* The context follows the signal's number on the stack. */
__attribute__((regparm(0))) static void handler(int signal, struct context context)
{
	context.ax = -4;
}

struct user_context {
	unsigned long flags, link, stack[3]; /* struct ucontext_ia32 */
	struct context context;
};

__attribute__((regparm(0))) static void handler_rt(int signal, void *info, struct user_context *context)
{
	context->context.ax = -4;
}

asm("back: popl %eax; movl $119, %eax; int $0x80\n"
    "back_rt: movl $173, %eax; int $0x80\n");
extern char back[], back_rt[];

static void end(int status)
{
	for (;;)
		call(1, status, 0, 0, 0);
}

static void signals(int n, void *handler, unsigned int flags, void *restorer, long self)
{
	struct action action = { handler, flags | SA_RESTORER, restorer, { 0, 0 } };

	if (call(174, SIGUSR1, (long)&action, 0, sizeof(action.mask)))
		end(90);
	while (n--) {
		if (call(37, self, SIGUSR1, 0, 0) != -4)
			end(91);
	}
}

__attribute__((used)) static void start(long *stack)
{
	long argc = stack[0], *argv = stack + 1, self = 0;

	for (int i = 0; i < 13; i++)
		self = call(20, 0, 0, 0, 0);
	for (int i = 0; i < 11; i++) {
		if (call(6, -1, 0, 0, 0) != -9)
			end(92);
	}
	signals(7, handler, 0, back, self);
	signals(5, handler_rt, SA_SIGINFO, back_rt, self);
	if (argc > 1)
		call(11, argv[1], (long)(argv + 1), 0, 0);
	end(argc > 1 ? 93 : 0);
}

asm(".globl _start\n_start: movl %esp, %eax; andl $-16, %esp; subl $12, %esp; pushl %eax; call start\n");
