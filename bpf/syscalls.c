/* The hot path: two programs that run at every system call of the machine. */

int on_sys_enter(u64 *ctx)
{
	void *task = (void *)bpf_get_current_task_btf();
	u32 code = call_code(field32(task, OFF_task_status), ctx[1]);
	struct task_state *state = state_of(task, never_returns(code));

	if (!state)
		return 0;
	if (state->flags & ~LOST)
		state->flags &= LOST;
	if (never_returns(code)) {
		count_call(state, code, 0, 0);
		return 0;
	}
	/* In this order: the iterator takes a call for begun once entry_ns is set. */
	state->code = code;
	asm volatile("" ::: "memory");
	state->entry_ns = bpf_ktime_get_ns();
	return 0;
}

int on_sys_exit(u64 *ctx)
{
	void *task = (void *)bpf_get_current_task_btf();
	struct task_state *state = state_of(task, true);

	if (!state)
		return 0;
	u64 began = state->entry_ns;
	long ret = ctx[1];
	if (began) {
		state->entry_ns = 0;
		count_call(state, state->code, began, ret);
		return 0;
	}
	/* An end without a beginning. Not a call: the child's return from its parent's fork. A call:
	 * one that a seccomp filter answered, or that began before its process was followed. */
	u32 flags = state->flags;
	state->flags = flags & LOST;
	if (flags & NEWBORN)
		return 0;
	u32 number = read32((void *)ctx[0], OFF_regs_number);
	u32 code = call_code(field32(task, OFF_task_status), number);
	if (flags & UNSEEN && makes_tasks(code) && !ret)
		return 0; /* born before the fork hook was there */
	if (flags & UNSEEN && number == (u32)-1)
		ret = 0; /* rt_sigreturn wiped its number, and restored whatever this is */
	count_call(state, code, 0, ret);
	return 0;
}
