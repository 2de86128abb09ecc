/* What user space asks about all tasks: each is one pass over them, begun by a read(). */

/* Every process, for the closure of trees. */
int list_processes(struct task_iteration *ctx)
{
	void *task = ctx->task, *sequence = sequence_of(ctx);

	if (!task || read32(task, OFF_task_struct_pid) != read32(task, OFF_task_struct_tgid))
		return 0;
	struct process_record record = {
		.key = process_of(task),
		.parent = process_of(read_pointer(task, OFF_task_struct_real_parent)),
	};
	struct membership *m = traced_tgids.lookup(&record.key);
	if (m) {
		record.member = *m;
		record.flags |= PROCESS_KNOWN;
	}
	if (process_alive(task))
		record.flags |= PROCESS_ALIVE;
	if (read32(task, OFF_task_struct_flags) & PF_KTHREAD)
		record.flags |= PROCESS_KERNEL;
	bpf_seq_write(sequence, &record, sizeof(record));
	return 0;
}

static __always_inline void report(void *sequence, u32 result)
{
	bpf_seq_write(sequence, &result, sizeof(result));
}

/* Makes the truth of a process true: in which listed cgroup is it now? */
static __always_inline void sync_process(void *task, struct process_key *key, void *sequence)
{
	u32 slot = cgroup_slot(task, NULL);
	struct texts *t = texts_at(AT_ITERATOR);

	if (t && process_alive(task) && place(task, key, slot, t) == PLACED)
		report(sequence, SYNC_CHANGED);
}

/* Carries the truth into the storage of every thread. Writes what changed: a pass that writes
 * nothing found everything in its place. */
int sync_tasks(struct task_iteration *ctx)
{
	void *task = ctx->task, *sequence = sequence_of(ctx);

	if (!task || read32(task, OFF_task_struct_exit_state))
		return 0;
	struct process_key key = process_of(task);
	/* A process is where its leader is; where any thread is, once the leader has ended. */
	void *leader = read_pointer(task, OFF_task_struct_group_leader);
	if (task == leader || read32(leader, OFF_task_struct_exit_state))
		sync_process(task, &key, sequence);

	struct task_state *state = tasks.task_storage_get(task, 0, 0);
	struct membership *m = traced_tgids.lookup(&key);
	if (state && state->flags & LOST) {
		struct membership wanted = state->wanted;
		if (!m) {
			if (traced_tgids.update(&key, &wanted)) {
				report(sequence, SYNC_NO_ROOM);
				return 0;
			}
			m = traced_tgids.lookup(&key);
		}
		state->flags &= ~LOST;
	}
	struct membership *waits = m ? NULL : waiting.lookup(&key);
	u32 slot = m ? m->slot : 0;
	if (state && waits) {
		state->wanted = *waits;
		state->slot = 0;
		state->flags |= LOST;
		report(sequence, SYNC_NO_ROOM);
		return 0;
	}
	if (state ? state->slot == slot : !slot && !waits)
		return 0;
	if (state)
		state->slot = slot;
	else
		state = follow(task, slot, waits ? UNSEEN | LOST : UNSEEN, waits);
	report(sequence, !state ? SYNC_NO_STORAGE : waits ? SYNC_NO_ROOM : SYNC_CHANGED);
	return 0;
}

/* Every followed thread, for the gauges: its state and the call that it is in. */
int scan_threads(struct task_iteration *ctx)
{
	void *task = ctx->task, *sequence = sequence_of(ctx);

	if (!task || read32(task, OFF_task_struct_exit_state))
		return 0;
	struct task_state *state = tasks.task_storage_get(task, 0, 0);
	u32 task_flags = read32(task, OFF_task_struct_flags);
	if (!state || !state->slot || task_flags & PF_KTHREAD)
		return 0;
	struct thread_record record = {
		.key = process_of(task),
		.tid = read32(task, OFF_task_struct_pid),
		.slot = state->slot,
		.state = read32(task, OFF_task_struct___state),
	};
	/* Twice, because the task goes on meanwhile: the time names one call. */
	u64 began = *(volatile u64 *)&state->entry_ns;
	record.code = *(volatile u32 *)&state->code;
	if (began && began == *(volatile u64 *)&state->entry_ns) {
		record.entry_ns = began;
	} else if (state->flags & UNSEEN && record.state & TASK_SLEEPING && !(task_flags & PF_IO_WORKER)) {
		/* Only a task that sleeps is in a call for sure: the registers of one that runs, or that
		 * a signal stopped, are left over from an earlier one. Those of an io_uring worker are empty. */
		void *regs = (void *)task_pt_regs(task);
		u32 number = read32(regs, OFF_regs_number);
		if (number != (u32)-1) {
			record.entry_ns = state->since_ns;
			record.code = call_code(read32(task, OFF_task_status), number);
		}
	}
	bpf_seq_write(sequence, &record, sizeof(record));
	return 0;
}
