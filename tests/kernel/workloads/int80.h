/* An i386 call of a 64-bit program. */
#ifndef INT80_H
#define INT80_H

static inline long int80(long number, long first)
{
	long ret;

	asm volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(first) : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

#endif
