/* Which calls become spans: decided here, so that what does not matter costs the ring nothing.
 *
 * Each aggregate carries a mark, set when it is made: so a call that nobody asks about, and any where
 * spans are off, costs one comparison of a word that is in the cache anyway. */
#ifdef SPANS

static __always_inline bool has_bit(const u64 *words, const u32 limit, u64 bit)
{
	u64 word = bit / 64;

	asm volatile("" : "+r"(word)); /* or the compiler forgets the bound that it was compared with */
	return word < limit && words[word] >> (bit % 64) & 1;
}

static __always_inline struct span_rule *span_rule_of(u32 slot)
{
	struct tree *tree = trees.lookup(&slot);
	u32 index = tree ? tree->spans : 0;
	return index ? span_rules.lookup(&index) : NULL;
}

static __always_inline bool is_named(struct span_rule *rule, u32 code)
{
	u32 number = code & CODE_NUMBER;

	return number < NUMBERS && has_bit(rule->calls, KNOWN_WORDS, (code >> CODE_ABI_SHIFT) * NUMBERS + number);
}

/* The mark of a call of a tree. */
static __always_inline u64 mark_of(u32 slot, u32 code)
{
	struct tree *tree = trees.lookup(&slot);
	u32 index = tree ? tree->spans : 0;
	struct span_rule *rule = index ? span_rules.lookup(&index) : NULL;
	u64 mark = 0;

	if (!rule || restores_registers(code))
		return 0;
	if (is_named(rule, code))
		mark |= MARK_CALLS;
	if (rule->flags & SPANS_PROCESSES && changes_session(code))
		mark |= MARK_SESSION;
	return mark ? mark | index : 0;
}

/* In all shards of a new aggregate. */
static __always_inline void set_mark(u32 id, u32 slot, u32 code)
{
	u64 mark = mark_of(slot, code);

	if (!mark)
		return;
#pragma unroll
	for (u32 shard = 0; shard < SHARDS; shard++) {
		u32 element = id * SHARDS + shard;
		struct aggregate *sums = syscall_aggregate.lookup(&element);
		if (sums)
			sums->mark = mark;
	}
}

/* A token bucket without a lock: two CPUs that find the last token may both take it. */
static __always_inline bool takes_token(struct span_rule *rule, u64 now)
{
	u64 next = rule->next_ns;

	if (next < now) {
		rule->next_ns = now;
		next = now;
	}
	if (next - now + rule->interval_ns > rule->burst_ns) {
		__sync_fetch_and_add(&rule->refused, 1);
		return false;
	}
	__sync_fetch_and_add(&rule->next_ns, rule->interval_ns);
	return true;
}

/* Dice from the time when a call began: the kernel's own cost 25 ns. A loop makes its calls at regular
 * distances, and a product of those has a pattern, too: so it is multiplied again, with its high
 * half, where each bit of the time has its part, in its low one. */
static __always_inline u32 dice_of(u64 began)
{
	u64 mixed = began * 0x9e3779b97f4a7c15ULL;

	mixed ^= mixed >> 32;
	return mixed * 0x9e3779b97f4a7c15ULL >> 32;
}

/* Whether this call becomes a span. */
static __always_inline bool is_due(struct span_rule *rule, u64 began, u64 ns, long ret)
{
	if (ns >= rule->slower_than_ns)
		return true;
	if ((unsigned long)ret >= -4095UL && has_bit(rule->errors, ERROR_WORDS, -ret))
		return true;
	return dice_of(began) < rule->sample;
}

/* At the end of a call with a mark. Does not return if it becomes a span. */
static __always_inline void look_closer(void *ctx, struct task_state *state, u64 mark, u64 began, u64 ns, long ret)
{
	u32 index = mark & MARK_RULE;
	struct span_rule *rule = span_rules.lookup(&index);

	if (!rule)
		return;
	if (mark & MARK_SESSION && ret >= 0) {
		state->began_ns = 0;
		tails.call(ctx, 0);
	}
	/* The calls again, for those that have no aggregate of their own. */
	if (mark & MARK_CALLS && is_due(rule, began, ns, ret) && is_named(rule, state->code) &&
	    takes_token(rule, began + ns)) {
		state->began_ns = began;
		state->ended_ns = began + ns;
		tails.call(ctx, 0);
	}
}

#else
#define set_mark(id, slot, code)
#endif
