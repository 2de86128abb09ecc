/* Who is followed by name: at each exec, and at each cgroup that is made. Both are decided here, so
 * that a tree begins with a program's first instruction and a container's first process. */

/* Which rules hold for a program that has just begun. */
static __always_inline u64 rules_that_hold(void *task, struct rules *r, u32 generation, struct texts *t)
{
	u64 comm = 0, exe = 0, cmdline = 0, user = 0;

	if (r->start[FIELD_COMM]) {
		read_comm(task, t);
		comm = run(r->start[FIELD_COMM], t->comm, &t->comm_length, CHUNK);
	}
	if (r->start[FIELD_EXE]) {
		read_exe(task, t);
		u32 at = t->exe_at;
		if (at <= PATH_BYTES)
			exe = run(r->start[FIELD_EXE], t->exe + at, &t->exe_length, PATH_BYTES);
	}
	if (r->start[FIELD_CMDLINE]) {
		read_cmdline(task, t);
		cmdline = run(r->start[FIELD_CMDLINE], t->cmdline, &t->cmdline_length, CMDLINE_BYTES);
	}
	if (r->unasked[FIELD_USER] != r->any) {
		struct user_key key = { .generation = generation };
		key.uid = read32(read_pointer(task, OFF_task_struct_cred), OFF_cred_euid);
		u64 *bits = users.lookup(&key);
		user = bits ? *bits : 0;
	}
	return (comm | r->unasked[FIELD_COMM]) & (exe | r->unasked[FIELD_EXE]) &
	       (cmdline | r->unasked[FIELD_CMDLINE]) & (user | r->unasked[FIELD_USER]) & r->any;
}

/* What the rules that hold make of a process. From the last rule to the first, so that the first
 * stays; in memory, so that the verifier need not tell apart what was found. */
static __always_inline void judge(struct membership *m, struct rules *r, u64 holds, struct texts *t)
{
	volatile struct verdict *v = &t->verdict;

	v->excluded = m->excluded;
	v->rule = MAX_RULES;
	v->match = v->alone = 0;
	for (int i = 0; i < MAX_RULES; i++)
		v->excluded |= r->excluded[i] & -(holds >> i & 1);
	for (int i = MAX_RULES - 1; i >= 0; i--) {
		if (!(holds >> i & 1) || !takes(r->slot[i], v->excluded))
			continue; /* an `exclude` has no slot */
		if (r->alone >> i & 1) {
			v->alone = r->slot[i];
		} else {
			v->match = r->slot[i];
			v->rule = i;
		}
	}
	m->excluded = v->excluded;
	m->alone = v->alone;
	if (v->match && (!takes(m->match, m->excluded) || v->rule < order_of(m->match)))
		m->match = v->match;
}

/* A process that found no room yet: what it would be is kept in its storage. */
static __always_inline bool is_lost(struct task_state *state)
{
	return state && state->flags & LOST;
}

/* The membership of a process, or what it would have if there were room. */
static __always_inline void was(void *task, struct process_key *key, struct membership *now)
{
	struct membership *m = traced_tgids.lookup(key);
	struct task_state *state = m ? NULL : tasks.task_storage_get(task, 0, 0);

	if (m)
		*now = *m;
	else if (is_lost(state))
		*now = state->wanted;
	else
		*now = (struct membership){};
}

/* Its calls are lost from here on, and user space finds it room; or it is in no tree now, and nobody
 * will know that it is excluded. */
static __always_inline void found_no_room(void *task, struct task_state *state, struct membership *now)
{
	if (!now->slot) {
		if (state)
			state->flags &= ~LOST;
		if (now->excluded)
			lose(LOST_INCOMPLETE_TREE);
		return;
	}
	if (is_lost(state)) {
		state->wanted = *now;
		return;
	}
	lose_process();
	if (!follow(task, 0, LOST | UNSEEN, now))
		lose(LOST_PROCESS_LIMIT);
}

/* (task, old_pid, bprm): the new program is in place, and has not run. Its process has one thread. */
int on_exec(u64 *ctx)
{
	void *task = (void *)ctx[ARG_on_exec_task_0];
	struct process_key key = process_of(task);
	struct texts *t = texts_at(AT_EXEC);
	u32 generation = 0;
	struct rules *r = the_rules(&generation);

	if (!t || !r)
		return 0;
	/* What it was is looked up twice: before the loops, and after them again, so that the verifier
	 * does not follow them once for each case. */
	u64 holds = r->any ? rules_that_hold(task, r, generation, t) : 0;
	struct membership *now = &t->member;
	was(task, &key, now);
	if (r->any)
		judge(now, r, holds, t);
	settle(task, now, t, true);

	struct membership *m = traced_tgids.lookup(&key);
	struct task_state *state = tasks.task_storage_get(task, 0, 0);
	if (!m && !is_lost(state) && !now->match && !now->alone && !now->excluded)
		return 0;
	u32 slot = now->slot;
	struct slot_state *life = slots.lookup(&slot);
	if (slot && life)
		__sync_fetch_and_add(&life->execs, 1);
	if (m) { /* not as a whole: a move to another cgroup may come at the same time */
		m->match = now->match;
		m->alone = now->alone;
		m->excluded = now->excluded;
		m->tree_slot = now->tree_slot;
		m->slot = now->slot;
	} else if (traced_tgids.update(&key, now)) {
		found_no_room(task, state, now);
		return 0;
	}
	if (state) {
		state->flags &= ~LOST;
		state->slot = slot;
	} else if (slot && !follow(task, slot, UNSEEN, NULL)) {
		changed(); /* it asks again at its next event */
	}
	return 0;
}

static __always_inline void cgroup_key_of(void *cgroup, struct cgroup_key *key)
{
	key->hierarchy = read32(read_pointer(cgroup, OFF_cgroup_root), OFF_cgroup_root_hierarchy_id);
	key->reserved = 0;
	key->id = read64(read_pointer(cgroup, OFF_cgroup_kn), OFF_kernfs_node_id);
}

/* The first rule that a path fulfils, in this hierarchy; MAX_RULES: none. */
static __always_inline u32 rule_of(struct rules *r, struct texts *t)
{
	volatile u32 *first = &t->verdict.rule;
	u64 holds = run(r->cgroup_start, t->event.text, &t->event.length, TEXT_BYTES) |
		    run(r->container_start, t->event.text, &t->event.length, TEXT_BYTES);

	*first = MAX_RULES;
	for (int i = MAX_RULES - 1; i >= 0; i--) {
		u32 hierarchy = r->cgroup_hierarchy[i];
		if (holds >> i & 1 && (!hierarchy || hierarchy == t->event.cgroup.hierarchy + 1))
			*first = i;
	}
	return *first;
}

/* A slot for a cgroup that has none by its path: its rule's, a new one, or the one that all share who
 * find none. */
static __always_inline u32 slot_by_rule(struct rules *r, u32 rule, u64 hash)
{
	if (rule >= MAX_RULES)
		return 0;
	u32 slot = r->cgroup_slot[rule], other = r->cgroup_other[rule];
	if (slot)
		return slot;
	if (spare_slots.pop(&slot))
		return other;
	if (named_cgroups.insert(&hash, &slot)) { /* another CPU was first */
		spare_slots.push(&slot, 0);
		u32 *named = named_cgroups.lookup(&hash);
		return named ? *named : other;
	}
	struct tree *settings = trees.lookup(&other);
	if (settings) {
		struct tree copy = *settings;
		trees.update(&slot, &copy);
	}
	return slot;
}

/* (cgroup, path): it is there, and nobody is in it. */
int on_cgroup_mkdir(u64 *ctx)
{
	struct texts *t = texts_at(AT_MKDIR);
	u32 generation = 0;
	struct rules *r = the_rules(&generation);

	if (!t || !r)
		return 0;
	void *cgroup = read_pointer(ctx, ARG_on_cgroup_mkdir_cgroup_0 * sizeof(u64));
	void *path = read_pointer(ctx, (ARG_on_cgroup_mkdir_cgroup_0 + 1) * sizeof(u64));
	struct event *event = &t->event;
	long size = bpf_probe_read_kernel_str(event->text, TEXT_BYTES, path);
	if (size <= 1 || size > TEXT_BYTES)
		return 0;
	event->length = (size - 1) & (TEXT_BYTES - 1);
	event->text[event->length] = TEXT_END;
	cgroup_key_of(cgroup, &event->cgroup);

	/* By its path here, or anywhere; but not where a rule is about this hierarchy alone. */
	u32 rule = rule_of(r, t);
	bool bound = rule < MAX_RULES && r->cgroup_hierarchy[rule];
	u64 anywhere = hash_of(event->text, &event->length);
	u64 here = hash_with(anywhere, event->cgroup.hierarchy + 1);
	u32 *named = named_cgroups.lookup(&here);
	if (!named && !bound)
		named = named_cgroups.lookup(&anywhere);
	u32 slot = named ? *named : slot_by_rule(r, rule, bound ? here : anywhere);
	struct cgroup_key key = event->cgroup;
	if (!slot)
		return 0;
	if (traced_cgroups.update(&key, &slot))
		lose(LOST_INCOMPLETE_TREE);
	event->kind = EVENT_CGROUP;
	event->slot = slot;
	event->tree = 0;
	ring(event);
	return 0;
}

/* (cgroup, path): nobody is in it any more. */
int on_cgroup_rmdir(u64 *ctx)
{
	struct texts *t = texts_at(AT_RMDIR);
	void *cgroup = read_pointer(ctx, ARG_on_cgroup_rmdir_cgroup_0 * sizeof(u64));
	struct cgroup_key key = {};

	cgroup_key_of(cgroup, &key);
	u32 *slot = traced_cgroups.lookup(&key);
	if (!slot || !t)
		return 0;
	t->event.kind = EVENT_CGROUP_GONE;
	t->event.length = 0;
	t->event.slot = *slot;
	t->event.cgroup = key;
	traced_cgroups.delete(&key);
	ring(&t->event);
	return 0;
}
