/* The life of processes. These are BTF tracepoints: their arguments are pointers that the verifier
 * trusts, so the fork hook can write the child's storage before the child runs. */

static __always_inline void lose_edge(void)
{
	struct control *c = the_control();
	if (c)
		__sync_fetch_and_add(&c->edges_lost, 1);
}

static __always_inline void keep_edge(const struct process_key *child, const struct process_key *parent)
{
	/* The first edge stays: later ones name whoever adopted the child. */
	int error = edges.insert((struct process_key *)child, (struct process_key *)parent);
	if (error && error != -EEXIST)
		lose_edge();
}

/* While a sync goes on: the nearest ancestor that decides what a newborn is. User space writes what it
 * found about processes that may have ended since; a tree that forks and dies faster than that is
 * caught here, by the edges that lead from its living end to what was written.
 *
 * Of a process in no tree (`sync` 0) that is any ancestor in one. Of one in a tree, which may be
 * another by now, it is one that it descends from, about which user space has decided. */
static struct membership *climb(void *parent, const struct process_key *parent_key, u64 sync)
{
	struct process_key key = *parent_key;
	struct membership *m = NULL;

	for (int up = 0; up < MAX_DYING && !sync && !m && !edges.lookup(&key); up++) {
		parent = read_pointer(parent, OFF_task_struct_real_parent);
		key = process_of(parent);
		m = traced_tgids.lookup(&key);
	}
	for (int up = 0; up < MAX_CLIMB && !m; up++) {
		struct process_key *edge = edges.lookup(&key);
		if (!edge || (sync && edge->reserved != BY_BIRTH))
			break;
		key = *edge;
		key.reserved = 0;
		m = traced_tgids.lookup(&key);
		if (m && sync && m->sync != sync)
			m = NULL;
	}
	return m;
}

/* What user space decided about an ancestor, in the place of what was inherited from before. What held
 * for a program meanwhile remains, as long as it is a rule. */
static __always_inline void amend(struct membership *m, const struct membership *above)
{
	u32 generation = 0;
	struct rules *r = the_rules(&generation);
	if (!r)
		return;
	u32 order = order_of(m->match);
	bool is_rule = order < MAX_RULES && r->slot[order & (MAX_RULES - 1)] == m->match;

	m->tree = above->tree;
	m->node = above->node;
	m->sync = above->sync;
	m->excluded = above->excluded | (m->excluded & r->excludes);
	if (!is_rule || !takes(m->match, m->excluded) ||
	    (takes(above->match, m->excluded) && order_of(above->match) < order))
		m->match = above->match;
}

static __always_inline void new_thread(void *parent, void *child, struct membership *m)
{
	if (m) {
		if (m->slot && !follow(child, m->slot, NEWBORN, NULL))
			changed(); /* it asks again at its next event */
		return;
	}
	struct task_state *creator = tasks.task_storage_get(parent, 0, 0);
	if (creator && creator->flags & LOST) {
		struct membership wanted = creator->wanted;
		follow(child, 0, NEWBORN | LOST, &wanted);
	}
}

static __always_inline void new_process(void *parent, void *child, struct process_key *key, struct membership *m, struct membership *above)
{
	struct texts *t = texts_at(AT_FORK);
	if (!t)
		return;
	struct membership *born = &t->member;

	if (m) {
		*born = *m;
	} else {
		struct task_state *creator = tasks.task_storage_get(parent, 0, 0);
		if (creator && creator->flags & LOST)
			*born = creator->wanted;
		else
			*born = (struct membership){};
	}
	u32 creators_slot = born->slot;
	struct slot_state *creators = slots.lookup(&creators_slot);
	if (creators_slot && creators)
		__sync_fetch_and_add(&creators->forks, 1);

	born->own = born->alone = 0;
	if (above)
		amend(born, above);
	/* CLONE_INTO_CGROUP, or a thread that was moved by itself: not where the parent's process is */
	void *leader = read_pointer(parent, OFF_task_struct_group_leader);
	if (read64(child, OFF_task_struct_cgroups) != read64(leader, OFF_task_struct_cgroups))
		born->cgroup = cgroup_slot(child, NULL);
	settle(child, born, t, false);
	if (!born->tree && !born->cgroup && !born->match && !born->node && !born->excluded)
		return;

	u32 slot = born->slot;
	if (!traced_tgids.update(key, born)) {
		if (slot && !follow(child, slot, NEWBORN, NULL))
			changed();
		tell_forked(born->tree_slot, key, parent);
		return;
	}
	if (slot) {
		lose_process();
		if (!follow(child, 0, NEWBORN | LOST, born))
			lose(LOST_PROCESS_LIMIT);
	}
}

/* (parent, child), in the parent's context, before the child runs. */
int on_fork(u64 *ctx)
{
	void *parent = (void *)ctx[ARG_on_fork_task_0], *child = (void *)ctx[ARG_on_fork_task_1];
	struct process_key parent_key = process_of(parent), key = process_of(child);
	struct membership *m = traced_tgids.lookup(&parent_key);

	if (key.tgid == parent_key.tgid) {
		new_thread(parent, child, m);
		return 0;
	}
	struct control *c = the_control();
	struct membership *above = NULL;
	u64 sync = c ? c->syncing : 0;
	if (sync) {
		struct process_key by_birth = parent_key;
		by_birth.reserved = BY_BIRTH;
		keep_edge(&key, &by_birth);
		if (!m)
			m = climb(parent, &parent_key, 0);
		else if (m->sync != sync)
			above = climb(parent, &parent_key, sync);
	}
	new_process(parent, child, &key, m, above);
	return 0;
}


/* A parent that dies takes the link to its children with it: keep them, and its own. */
static void keep_edges_of_dying(void *task, const struct process_key *key)
{
	void *head = task + OFF_task_struct_children;
	void *child = read_pointer(head, 0), *at = task;

	/* Upwards, too, as long as ancestors are on their way out: their own end may have come before
	 * the hook was there, and they are still our parents. */
	for (int up = 0; up < MAX_DYING; up++) {
		struct process_key from = process_of(at);
		at = read_pointer(at, OFF_task_struct_real_parent);
		struct process_key parent = process_of(at);
		keep_edge(&from, &parent);
		if (!(read32(at, OFF_task_struct_flags) & PF_EXITING))
			break;
	}
	for (int i = 0; i < MAX_CHILDREN && child != head; i++) {
		struct process_key child_key = process_of(child - OFF_task_struct_sibling);
		keep_edge(&child_key, key);
		child = read_pointer(child, 0);
	}
	if (child != head)
		lose_edge();
}

/* (task, …), once for each thread; the leader may be first. signal->live has fallen already. */
int on_exit(u64 *ctx)
{
	void *task = (void *)ctx[ARG_on_exit_task_0];
	struct process_key key = process_of(task);
	struct control *c = the_control();

	if (c && c->syncing)
		keep_edges_of_dying(task, &key);
	if (process_alive(task))
		return 0;
	struct membership *m = traced_tgids.lookup(&key);
	if (!m)
		return 0;
	u32 slot = m->slot, tree_slot = m->tree_slot;
	if (traced_tgids.delete(&key)) /* two last threads: it counts for one of them */
		return 0;
	struct slot_state *state = slots.lookup(&slot);
	if (!slot || !state)
		return 0;

	void *signal = read_pointer(task, OFF_task_struct_signal);
	void *leader = read_pointer(task, OFF_task_struct_group_leader);
	u32 status = read32(signal, OFF_signal_struct_flags) & SIGNAL_GROUP_EXIT ?
			     read32(signal, OFF_signal_struct_group_exit_code) :
			     read32(leader, OFF_task_struct_exit_code);
	if (status & 0x7f)
		__sync_fetch_and_add(&state->exits_signal, 1);
	else if (status >> 8 & 0xff)
		__sync_fetch_and_add(&state->exits_error, 1);
	else
		__sync_fetch_and_add(&state->exits_ok, 1);
	tell_exited(tree_slot, &key, leader, status);
	return 0;
}

/* (dst_cgrp, path, task, threadgroup): once for a whole process, after the move, with the leader. A
 * process is where its leader is, so a thread that moves alone changes nothing. A leader that has
 * ended is not moved with its threads: so it is the destination that counts. */
int on_cgroup_attach(u64 *ctx)
{
	void *task = (void *)ctx[ARG_on_cgroup_attach_task_0];
	struct process_key key = process_of(task);

	if (read32(task, OFF_task_struct_pid) != key.tgid || !process_alive(task))
		return 0;
	/* Read, not loaded: as a plain number, which the compiler may select by bit masks. */
	void *destination = read_pointer(ctx, ARG_on_cgroup_attach_cgroup_0 * sizeof(u64));
	u32 slot = cgroup_slot(task, destination);
	struct texts *t = texts_at(AT_ATTACH);
	if (t && place(task, &key, slot, t))
		changed();
	return 0;
}
