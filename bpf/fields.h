/* Fields of kernel structs. bcc does no CO-RE relocation: the offsets (OFF_struct_field) are read
 * from the running kernel's BTF at start and come as -D.
 *
 * Two ways to read. `field32` loads through a pointer that the verifier knows the type of: free,
 * for the hot path. The others go through bpf_probe_read_kernel (28 ns on the machine where it was
 * measured): for pointers that were themselves read, and where price does not matter. */
#ifndef PROCTREE_FIELDS_H
#define PROCTREE_FIELDS_H

/* Values that the kernel never changed: include/linux/sched.h, sched/signal.h. */
#define EEXIST 17
#define PF_EXITING 0x00000004u
#define PF_IO_WORKER 0x00000010u
#define PF_KTHREAD 0x00200000u
#define SIGNAL_GROUP_EXIT 0x00000004u
#define TASK_SLEEPING 0x00000003u /* TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE */

static __always_inline u32 field32(const void *typed, u32 offset)
{
	return *(const u32 *)(typed + offset);
}

static __always_inline bool has_pointer(const void *typed, u32 offset)
{
	return *(void *const *)(typed + offset) != NULL;
}

static __always_inline u32 read32(const void *object, u32 offset)
{
	u32 value = 0;
	bpf_probe_read_kernel(&value, sizeof(value), object + offset);
	return value;
}

static __always_inline u64 read64(const void *object, u32 offset)
{
	u64 value = 0;
	bpf_probe_read_kernel(&value, sizeof(value), object + offset);
	return value;
}

static __always_inline void *read_pointer(const void *object, u32 offset)
{
	return (void *)read64(object, offset);
}

/* The process a task belongs to. */
static __always_inline struct process_key process_of(const void *task)
{
	const void *leader = read_pointer(task, OFF_task_struct_group_leader);
	struct process_key key = {
		.tgid = read32(task, OFF_task_struct_tgid),
		.start_ns = read64(leader, OFF_task_struct_start_boottime),
	};
	return key;
}

/* Whether the process still has a thread that has not begun to exit. */
static __always_inline bool process_alive(const void *task)
{
	const void *signal = read_pointer(task, OFF_task_struct_signal);
	return read32(signal, OFF_signal_struct_live) != 0;
}

/* What a program of BPF_ITER(task) gets: struct bpf_iter__task. */
struct task_iteration {
	void **meta; /* struct bpf_iter_meta, whose first member is the seq_file */
	void *task;
};

static __always_inline void *sequence_of(struct task_iteration *ctx)
{
	return *ctx->meta;
}

/* Not in the helpers.h of all versions of bcc. */
static long (*task_pt_regs)(void *task) = (void *)175; /* bpf_task_pt_regs, Linux 5.15 */

#endif
