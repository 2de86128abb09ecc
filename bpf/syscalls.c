/* The hot path: two programs that run at every system call of the machine. */

int on_sys_enter(u64 *ctx)
{
	void *task = (void *)bpf_get_current_task_btf();
	u32 code = call_code(field32(task, OFF_task_status), ctx[1]), refused = 0;
	bool ends = never_returns(code);
	struct task_state *state = state_of(task, ends ? &refused : NULL);

	if (!state) {
		if (refused)
			count_in(refused, find_id(refused, code), code, 0, 0);
		return 0;
	}
	if (state->flags & ~LOST)
		state->flags &= LOST;
	if (ends) {
		count_call(state, code, 0, 0);
		return 0;
	}
	/* In this order: the iterator takes a call for begun once entry_ns is set. */
	state->code = code;
	asm volatile("" ::: "memory");
	state->entry_ns = bpf_ktime_get_ns();
	return 0;
}

/* An end without a beginning. Not a call: the child's return from its parent's fork. A call: one
 * that a seccomp filter answered, or that began before its process was followed. */
static __always_inline bool is_call(u32 flags, u32 code, long ret)
{
	if (flags & NEWBORN)
		return false;
	/* born before the fork hook was there, or without storage */
	return !(flags & UNSEEN && makes_tasks(code) && !ret);
}

int on_sys_exit(u64 *ctx)
{
	void *task = (void *)bpf_get_current_task_btf();
	u32 refused = 0, flags = UNSEEN;
	struct task_state *state = state_of(task, &refused);
	long ret = ctx[1];

	if (!state && !refused)
		return 0;
	if (state) {
		u64 began = state->entry_ns;
		if (began) {
			state->entry_ns = 0;
			struct counted counted = count_call(state, state->code, began, ret);
#ifdef SPANS
			if (counted.mark)
				look_closer(ctx, state, counted.mark, began, counted.ns, ret);
#endif
			return 0;
		}
		flags = state->flags;
		state->flags = flags & LOST;
	}
	u32 number = read32((void *)ctx[0], OFF_regs_number);
	u32 code = call_code(field32(task, OFF_task_status), number);
	if (!is_call(flags, code, ret))
		return 0;
	if (flags & UNSEEN && number == (u32)-1)
		ret = 0; /* rt_sigreturn wiped its number, and restored whatever this is */
	if (state)
		count_call(state, code, 0, ret);
	else
		count_in(refused, find_id(refused, code), code, 0, ret);
	return 0;
}
