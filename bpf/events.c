/* What user space is told, for spans: the life of processes, and calls that became spans. Counting does
 * not depend on it: what finds the ring full is counted in control.span_events_lost, and that is all. */
#ifdef SPANS

static __always_inline void lose_span_event(void)
{
	struct control *c = the_control();
	if (c)
		__sync_fetch_and_add(&c->span_events_lost, 1);
}

static __always_inline void begin_event(struct span_event *event, u32 kind, u32 slot, const struct process_key *key)
{
	event->kind = kind;
	event->slot = slot;
	event->key = *key;
	event->time_ns = bpf_ktime_get_ns();
}

static __always_inline bool tells_of_processes(u32 slot)
{
	struct span_rule *rule = span_rule_of(slot);
	return rule && rule->flags & SPANS_PROCESSES;
}

static __always_inline void tell_forked(u32 slot, const struct process_key *key, const void *parent)
{
	if (!tells_of_processes(slot))
		return;
	struct span_forked *told = events.ringbuf_reserve(sizeof(struct span_forked));
	if (!told) {
		lose_span_event();
		return;
	}
	begin_event(&told->event, SPAN_FORKED, slot, key);
	told->parent = process_of(parent);
	events.ringbuf_submit(told, 0);
}

static __always_inline void tell_exited(u32 slot, const struct process_key *key, const void *leader, u32 status)
{
	if (!tells_of_processes(slot))
		return;
	struct span_exited *told = events.ringbuf_reserve(sizeof(struct span_exited));
	if (!told) {
		lose_span_event();
		return;
	}
	begin_event(&told->event, SPAN_EXITED, slot, key);
	told->parent = process_of(read_pointer(leader, OFF_task_struct_real_parent));
	told->status = status;
	told->reserved = 0;
	bpf_probe_read_kernel(told->comm, sizeof(told->comm), leader + OFF_task_struct_comm);
	events.ringbuf_submit(told, 0);
}

/* One for each place, like `scratch`. */
BPF_PERCPU_ARRAY(span_texts, struct span_text, 1);
BPF_PERCPU_ARRAY(span_calls, struct span_called, 1);

static __always_inline void tell_text(struct span_text *told, u32 kind, u32 length)
{
	told->event.kind = kind;
	told->length = length;
	told->reserved = 0;
	if (length > SPAN_TEXT_BYTES)
		return;
	if (events.ringbuf_output(told, sizeof(*told) - SPAN_TEXT_BYTES + length, 0))
		lose_span_event();
}

/* A part of the current task's memory, 4,095 bytes at most. */
static __always_inline void tell_memory(struct span_text *told, u32 kind, u64 from, u64 to)
{
	u64 length = to - from;

	if (from >= to)
		return;
	if (length > SPAN_TEXT_BYTES - 1)
		length = SPAN_TEXT_BYTES - 1;
	asm volatile("" : "+r"(length)); /* Linux 5.15 wants the mask, which the compiler knows to be vain */
	length &= SPAN_TEXT_BYTES - 1;
	if (!bpf_probe_read_user(told->text, length, (void *)from))
		tell_text(told, kind, length);
}

/* A string of the current task: how many bytes with its NUL, `size` at most. Negative: it cannot be read. */
static __always_inline long read_string(char *to, const u32 size, u64 from)
{
	long length = bpf_probe_read_user_str(to, size, (void *)from);

	return length ? length : 1; /* of an empty one older kernels say 0 (strncpy_from_user_nofault) */
}

#define ENVIRON_STEPS 1024
#define NAME_TRACEPAR 0x5241504543415254ULL /* "TRACEPAR" and "ENT=", as both processors load them */
#define NAME_ENT 0x3d544e45u
#define NAME_BYTES 12
#define VALUE_BYTES 56 /* one more than version 00 has: enough to see that it is longer */

/* The value of TRACEPARENT in the environment of the current task: of the first variable of that name, as
 * getenv(3) has it. A step is one variable, or 4,095 bytes of a long one; what lies behind is not read. */
static __always_inline void tell_traceparent(struct span_text *told, u64 at, u64 end)
{
	bool inside = false; /* a long one, and not at its beginning */

	told->length = 0; /* in memory: the verifier need not tell apart how the loop ended */
	for (u32 step = 0; step < ENVIRON_STEPS && at < end; step++) {
		long size = read_string(told->text, SPAN_TEXT_BYTES, at);
		if (size < 0)
			break;
		if (!inside && *(u64 *)told->text == NAME_TRACEPAR && *(u32 *)(told->text + 8) == NAME_ENT) {
			told->length = read_string(told->text, VALUE_BYTES + 1, at + NAME_BYTES);
			break;
		}
		inside = size == SPAN_TEXT_BYTES; /* or it ends there: then an empty rest follows */
		at += size - inside;
	}
	u32 length = told->length - 1; /* without its NUL; vast where there is none, or it cannot be read */
	if (length <= VALUE_BYTES)
		tell_text(told, SPAN_ENVIRONED, length);
}

/* (task, old_pid, bprm), after on_exec: whose it is has been decided. */
int on_exec_span(u64 *ctx)
{
	void *task = (void *)ctx[ARG_on_exec_span_task_0];
	struct process_key key = process_of(task);
	struct membership *m = traced_tgids.lookup(&key);
	struct span_rule *rule = m ? span_rule_of(m->tree_slot) : NULL;
	struct texts *t = texts_at(AT_SPAN_EXEC);
	int only = 0;
	struct span_text *told = span_texts.lookup(&only);

	if (!rule || !(rule->flags & SPANS_PROCESSES) || !t || !told)
		return 0;
	u32 flags = rule->flags;
	begin_event(&told->event, SPAN_EXECED, m->tree_slot, &key);
	read_exe(task, t);
	u64 at = t->exe_at, length = t->exe_length;
	asm volatile("" : "+r"(length));
	if (at > PATH_BYTES || length > PATH_BYTES)
		return 0;
	bpf_probe_read_kernel(told->text, length, t->exe + at);
	tell_text(told, SPAN_EXECED, length);

	void *mm = read_pointer(task, OFF_task_struct_mm);
	if (flags & SPANS_ARGS)
		tell_memory(told, SPAN_ARGUED, read64(mm, OFF_mm_struct_arg_start), read64(mm, OFF_mm_struct_arg_end));
	if (flags & SPANS_ENVIRON)
		tell_traceparent(told, read64(mm, OFF_mm_struct_env_start), read64(mm, OFF_mm_struct_env_end));
	return 0;
}

/* include/uapi/linux/stat.h */
#define S_IFMT 0170000u
#define S_IFSOCK 0140000u
#define S_IFIFO 0010000u

static __always_inline void *open_file(const void *task, u64 fd)
{
	void *files = read_pointer(task, OFF_task_struct_files);
	void *table = files ? read_pointer(files, OFF_files_struct_fdt) : NULL;

	if (!table || fd >= read32(table, OFF_fdtable_max_fds))
		return NULL;
	return read_pointer(read_pointer(table, OFF_fdtable_fd), fd * sizeof(void *));
}

/* The file that a call names: by a path, as it was given, or by a descriptor. Read when the call is
 * over: a thread that shares the memory may have changed it since. */
static __always_inline void tell_path(const void *task, struct span_called *told)
{
	u32 index = (told->code >> CODE_ABI_SHIFT) * NUMBERS + (told->code & CODE_NUMBER);
	u32 *known = span_arguments.lookup((int *)&index), how = known ? *known : 0;
	u64 value = how & 1 ? told->args[1] : told->args[0];

	told->length = 0;
	if (how & ARGUMENT_PATH && !(how & ARGUMENT_EXEC && !told->ret)) {
		long size = bpf_probe_read_user_str(told->path, SPAN_PATH_BYTES, (void *)value);
		if (size > 1)
			told->length = (size - 1) & (SPAN_PATH_BYTES - 1);
	} else if (how & ARGUMENT_FD) {
		struct texts *t = texts_at(AT_SPAN_CALL);
		if (!t)
			return;
		void *file = open_file(task, (u32)value);
		u32 kind = file ? read32(read_pointer(file, OFF_file_f_inode), OFF_inode_i_mode) & S_IFMT : 0;
		if (!file || kind == S_IFSOCK || kind == S_IFIFO)
			return; /* in no folder, most of them */
		read_path(file, t);
		u64 at = t->exe_at, length = t->exe_length;
		asm volatile("" : "+r"(length));
		if (at > PATH_BYTES || length > PATH_BYTES)
			return;
		if (length > SPAN_PATH_BYTES - 1) /* its end tells more than its beginning */
			length = SPAN_PATH_BYTES - 1;
		asm volatile("" : "+r"(length));
		length &= SPAN_PATH_BYTES - 1;
		at = (PATH_BYTES - length) & (PATH_BYTES - 1);
		bpf_probe_read_kernel(told->path, length, t->exe + at);
		told->length = length;
	}
}

/* What on_sys_exit goes on with once a call is to be told of; the context is its own. */
int on_call_span(u64 *ctx)
{
	void *task = (void *)bpf_get_current_task_btf(), *regs = (void *)ctx[0];
	struct task_state *state = tasks.task_storage_get(task, 0, 0);
	int only = 0;
	struct span_called *told = span_calls.lookup(&only);

	if (!state || !told)
		return 0;
	struct process_key key = process_of(task);
	begin_event(&told->event, state->began_ns ? SPAN_CALLED : SPAN_SESSION, state->slot, &key);
	told->began_ns = state->began_ns;
	told->ret = ctx[1];
	told->code = state->code;
	told->tid = read32(task, OFF_task_struct_pid);
	told->reserved = 0;
	told->args[0] = read64(regs, OFF_ARGUMENT_0(told->code));
	told->args[1] = read64(regs, OFF_ARGUMENT_1(told->code));
	told->length = 0;
	if (state->began_ns) {
		told->event.time_ns = state->ended_ns;
		tell_path(task, told);
	}
	u32 length = told->length;
	if (length > SPAN_PATH_BYTES)
		return 0;
	if (events.ringbuf_output(told, sizeof(*told) - SPAN_PATH_BYTES + length, 0))
		lose_span_event();
	return 0;
}

#else
#define tell_forked(slot, key, parent)
#define tell_exited(slot, key, leader, status)
#endif
