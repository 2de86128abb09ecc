/* Counting: from (slot, call) to an aggregate, and what is added to it. Atomic adds everywhere:
 * shards are fewer than CPUs, and programs may be preempted. */

/* Decided here, so that made-up numbers cost one entry, not one each. */
static __always_inline bool is_known(u32 code)
{
	u32 number = code & CODE_NUMBER;
	u32 word = (code >> CODE_ABI_SHIFT) * (NUMBERS / 64) + number / 64;

	if (number >= NUMBERS)
		return false;
	u64 *bits = known_calls.lookup(&word);
	return bits && (*bits >> (number % 64) & 1);
}

static u32 new_id(struct call_key *call, struct slot_state *slot)
{
	u32 id = 0;

	if (slot->calls >= CALLS_PER_SLOT || free_ids.pop(&id))
		return slot->other_id;
	if (call_ids.insert(call, &id)) { /* another CPU was first */
		free_ids.push(&id, 0);
		u32 *theirs = call_ids.lookup(call);
		return theirs ? *theirs : slot->other_id;
	}
	__sync_fetch_and_add(&slot->calls, 1);
	set_mark(id, call->slot, call->code);
	return id;
}

static u32 find_id(u32 slot, u32 code)
{
	struct call_key call = { .slot = slot, .code = code };
	u32 *id = call_ids.lookup(&call);

	if (id)
		return *id;
	if (!is_known(code)) {
		call.code = code | NUMBER_UNKNOWN;
		id = call_ids.lookup(&call);
		if (id)
			return *id;
	}
	struct slot_state *state = slots.lookup(&slot);
	return state ? new_id(&call, state) : 0;
}

static __always_inline u32 id_of(struct task_state *state, u32 slot, u32 code)
{
	u64 call = (u64)slot << 32 | code;
	u32 line = code & (CACHED_CALLS - 1);

	if (state->cached_call[line] == call)
		return state->cached_id[line];
	u32 id = find_id(slot, code);
	if (id) {
		state->cached_call[line] = call;
		state->cached_id[line] = id;
	}
	return id;
}

static void count_error(u32 slot, u32 id, struct aggregate *sums, u32 error)
{
	if (error > MAX_ERRNO && error != 524 /* ENOTSUPP */)
		error = ERRNO_UNKNOWN;

	struct error_key key = { .id = id, .error = error };
	u64 *count = call_errors.lookup(&key);
	if (!count) {
		struct slot_state *state = slots.lookup(&slot);
		u64 zero = 0;
		if (state && state->errors < ERRORS_PER_SLOT && !call_errors.insert(&key, &zero))
			__sync_fetch_and_add(&state->errors, 1);
		count = call_errors.lookup(&key);
	}
	__sync_fetch_and_add(count ? count : &sums->other_errors, 1);
}

static __always_inline bool is_error(u32 code, u64 began, long ret)
{
	if ((unsigned long)ret < -4095UL)
		return false;
	/* The kernel's restart codes, include/linux/errno.h: the call goes on, or user space gets EINTR */
	if (ret == -512 || ret == -513 || ret == -514 || ret == -516)
		return false;
	/* One whose beginning nobody saw was answered by a seccomp filter: that is an error. */
	return !(began && restores_registers(code));
}

/* What is to be known of a call that was counted, for spans. */
struct counted {
	u64 mark;
	u64 ns;
};

/* One call has ended. `began` is 0 where nobody saw it begin. */
static __always_inline struct counted count_in(u32 slot, u32 id, u32 code, u64 began, long ret)
{
	struct counted counted = {};
	u32 element = id * SHARDS + (bpf_get_smp_processor_id() & (SHARDS - 1));
	struct aggregate *sums = syscall_aggregate.lookup(&element);
	if (!id || !sums) {
		lose(LOST_CALL_LIMIT);
		return counted;
	}
	if (began) {
		u64 ns = bpf_ktime_get_ns() - began;
#ifdef SPANS
		counted = (struct counted){ .mark = sums->mark, .ns = ns };
#endif
		u32 bucket = bucket_of(ns);
		if (bucket < BUCKETS)
			__sync_fetch_and_add(&sums->buckets[bucket], 1);
		else /* 300 years, or a clock that went back */
			lose(LOST_CALL_LIMIT);
		__sync_fetch_and_add(&sums->sum_ns, ns);
	} else {
		__sync_fetch_and_add(&sums->untimed, 1);
	}
	/* After the call itself: user space reads errors first, so they never exceed calls. */
	if (is_error(code, began, ret))
		count_error(slot, id, sums, -ret);
	return counted;
}

static __always_inline struct counted count_call(struct task_state *state, u32 code, u64 began, long ret)
{
	u32 slot = state->slot;

	if (slot)
		return count_in(slot, id_of(state, slot, code), code, began, ret);
	if (state->flags & LOST)
		lose(LOST_PROCESS_LIMIT);
	return (struct counted){};
}
