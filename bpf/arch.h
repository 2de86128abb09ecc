/* What differs between processors: the ABI of a call and its number. */
#ifndef PROCTREE_ARCH_H
#define PROCTREE_ARCH_H

/* As exporter/kernel/syscalls.py numbers them. */
enum abi { ABI_X86_64, ABI_I386, ABI_X32, ABI_AARCH64, ABI_ARM };

/* Numbers above this are in no table; ARM's private calls are moved below it. */
#define NUMBERS 1024

static __always_inline u32 code_of(u32 abi, u32 number)
{
	if (number >= NUMBERS)
		number = NUMBER_UNKNOWN;
	return abi << CODE_ABI_SHIFT | number;
}

#if defined(__x86_64__)

#define TS_COMPAT 0x0002u /* arch/x86/include/asm/thread_info.h */
#define X32_BIT 0x40000000u

/* `status` is thread_info.status of the task that makes the call. TS_COMPAT is set for the time of
 * a 32-bit call, whatever the program is: int 0x80 of a 64-bit one has i386's numbers. The x32 bit
 * means something only where the kernel has that ABI; elsewhere it makes a number nobody knows. */
static __always_inline u32 call_code(u32 status, u32 number)
{
	if (status & TS_COMPAT)
		return code_of(ABI_I386, number);
#ifdef HAVE_X32
	if (number & X32_BIT)
		return code_of(ABI_X32, number & ~X32_BIT);
#endif
	return code_of(ABI_X86_64, number);
}

#define OFF_task_status OFF_task_struct_thread_info_status
#define OFF_regs_number OFF_pt_regs_orig_ax

static __always_inline bool never_returns(u32 code)
{
	return code == (ABI_X86_64 << CODE_ABI_SHIFT | 60) || code == (ABI_X86_64 << CODE_ABI_SHIFT | 231) ||
	       code == (ABI_I386 << CODE_ABI_SHIFT | 1) || code == (ABI_I386 << CODE_ABI_SHIFT | 252) ||
	       code == (ABI_X32 << CODE_ABI_SHIFT | 60) || code == (ABI_X32 << CODE_ABI_SHIFT | 231);
}

/* What a signal handler returns through: its "return value" is whatever was restored. */
static __always_inline bool restores_registers(u32 code)
{
	return code == (ABI_X86_64 << CODE_ABI_SHIFT | 15) || code == (ABI_X32 << CODE_ABI_SHIFT | 513) ||
	       code == (ABI_I386 << CODE_ABI_SHIFT | 119) || code == (ABI_I386 << CODE_ABI_SHIFT | 173);
}

/* Where the first two arguments of a call are, when it has ended. */
#define OFF_ARGUMENT_0(code) ((code) >> CODE_ABI_SHIFT == ABI_I386 ? OFF_pt_regs_bx : OFF_pt_regs_di)
#define OFF_ARGUMENT_1(code) ((code) >> CODE_ABI_SHIFT == ABI_I386 ? OFF_pt_regs_cx : OFF_pt_regs_si)

/* setsid, setpgid */
static __always_inline bool changes_session(u32 code)
{
	u32 abi = code >> CODE_ABI_SHIFT, number = code & CODE_NUMBER;

	if (abi == ABI_I386)
		return number == 66 || number == 57;
	return number == 112 || number == 109;
}

/* clone, fork, vfork, clone3 */
static __always_inline bool makes_tasks(u32 code)
{
	u32 abi = code >> CODE_ABI_SHIFT, number = code & CODE_NUMBER;

	if (abi == ABI_I386)
		return number == 120 || number == 2 || number == 190 || number == 435;
	return number == 56 || number == 57 || number == 58 || number == 435;
}

#elif defined(__aarch64__)

#define TIF_32BIT (1u << 22) /* arch/arm64/include/asm/thread_info.h */
#define ARM_PRIVATE 0xf0000u /* arch/arm/include/uapi/asm/unistd.h: __ARM_NR_BASE */

static __always_inline u32 call_code(u32 flags, u32 number)
{
	if (flags & TIF_32BIT) {
		if (number >= ARM_PRIVATE && number < ARM_PRIVATE + 16)
			number = NUMBERS - 16 + (number - ARM_PRIVATE);
		return code_of(ABI_ARM, number);
	}
	return code_of(ABI_AARCH64, number);
}

#define OFF_task_status OFF_task_struct_thread_info_flags
#define OFF_regs_number OFF_pt_regs_syscallno

static __always_inline bool never_returns(u32 code)
{
	return code == (ABI_AARCH64 << CODE_ABI_SHIFT | 93) || code == (ABI_AARCH64 << CODE_ABI_SHIFT | 94) ||
	       code == (ABI_ARM << CODE_ABI_SHIFT | 1) || code == (ABI_ARM << CODE_ABI_SHIFT | 248);
}

static __always_inline bool restores_registers(u32 code)
{
	return code == (ABI_AARCH64 << CODE_ABI_SHIFT | 139) ||
	       code == (ABI_ARM << CODE_ABI_SHIFT | 119) || code == (ABI_ARM << CODE_ABI_SHIFT | 173);
}

/* The result is where the first argument was, which is kept for the restart of calls. */
#define OFF_ARGUMENT_0(code) OFF_pt_regs_orig_x0
#define OFF_ARGUMENT_1(code) (OFF_pt_regs_regs + 8)

static __always_inline bool changes_session(u32 code)
{
	u32 abi = code >> CODE_ABI_SHIFT, number = code & CODE_NUMBER;

	if (abi == ABI_ARM)
		return number == 66 || number == 57;
	return number == 157 || number == 154;
}

static __always_inline bool makes_tasks(u32 code)
{
	u32 abi = code >> CODE_ABI_SHIFT, number = code & CODE_NUMBER;

	if (abi == ABI_ARM)
		return number == 120 || number == 2 || number == 190 || number == 435;
	return number == 220 || number == 435;
}

#else
#error "x86_64 and aarch64 only"
#endif

#endif
