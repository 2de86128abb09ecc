/* Who belongs to which tree.
 *
 * traced_tgids is the truth, a thread's storage its cached copy. Whoever changes the truth counts
 * it in control.changes; until user space has carried the change into the storage of every thread
 * (control.settled), each thread asks the truth at each event. So no thread keeps an old decision
 * for even one call, and the settled state costs one comparison. */

static __always_inline bool takes(u32 slot, u64 excluded)
{
	if (!slot || !excluded || slot == SLOT_EXCLUDED)
		return slot;
	struct tree *tree = trees.lookup(&slot);
	return !tree || !(tree->excluded_by & excluded);
}

static __always_inline u32 order_of(u32 slot)
{
	struct tree *tree = trees.lookup(&slot);
	return tree ? tree->order : MAX_RULES;
}

/* The tree of a process. */
static __always_inline u32 decide(const struct membership *m)
{
	u64 excluded = m->excluded;
	u32 slot = 0;

	if (takes(m->own, excluded))
		slot = m->own;
	else if (takes(m->tree, excluded))
		slot = m->tree;
	else if (takes(m->cgroup, excluded))
		slot = m->cgroup;
	else {
		u32 match = takes(m->match, excluded) ? m->match : 0;
		u32 alone = takes(m->alone, excluded) ? m->alone : 0;
		slot = match && alone ? (order_of(match) < order_of(alone) ? match : alone) : match + alone;
		if (!slot && takes(m->node, excluded))
			slot = m->node;
	}
	return slot == SLOT_EXCLUDED ? 0 : slot;
}

/* Where a tree's process is counted: by its program, if the tree is split. */
static __always_inline u32 slot_of(const void *task, u32 tree_slot, struct texts *t)
{
	struct tree *tree = trees.lookup(&tree_slot);
	if (!tree_slot || !tree || !tree->group_by || !t)
		return tree_slot;

	struct event *event = &t->event;
	if (tree->group_by == GROUP_BY_EXE) {
		read_exe(task, t);
		u64 at = t->exe_at, length = t->exe_length;
		asm volatile("" : "+r"(length)); /* or its bound is that of what it was computed from */
		if (at > PATH_BYTES || length > TEXT_BYTES)
			return tree_slot;
		bpf_probe_read_kernel(event->text, length, t->exe + at);
		event->length = length;
	} else {
		read_comm(task, t);
		__builtin_memcpy(event->text, t->comm, COMM_BYTES);
		event->length = t->comm_length;
	}
	struct group_key key = { .slot = tree_slot, .hash = hash_of(event->text, &event->length) };
	u32 *known = groups.lookup(&key);
	if (known)
		return *known;

	struct slot_state *state = slots.lookup(&tree_slot);
	struct control *c = the_control();
	u32 slot = 0;
	if (!state || state->groups >= MAX_GROUPS || spare_slots.pop(&slot)) {
		if (c)
			__sync_fetch_and_add(&c->folded_groups, 1);
		return tree_slot;
	}
	if (groups.insert(&key, &slot)) { /* another CPU was first */
		spare_slots.push(&slot, 0);
		known = groups.lookup(&key);
		return known ? *known : tree_slot;
	}
	__sync_fetch_and_add(&state->groups, 1);
#ifdef SPANS
	tree = trees.lookup(&tree_slot);
	if (tree) {
		t->tree = *tree;
		trees.update(&slot, &t->tree);
	}
#endif
	event->kind = EVENT_GROUP;
	event->slot = slot;
	event->tree = tree_slot;
	ring(event);
	return slot;
}

/* Decides anew. True if that changed where calls are counted. */
static __always_inline bool settle(const void *task, struct membership *m, struct texts *t, bool program_changed)
{
	u32 tree_slot = decide(m), before = m->slot;

	if (tree_slot == m->tree_slot && !program_changed)
		return false;
	m->tree_slot = tree_slot;
	m->slot = slot_of(task, tree_slot, t);
	return m->slot != before;
}

static __always_inline void changed(void)
{
	struct control *c = the_control();
	u32 rung = EVENT_CHANGED;

	if (!c)
		return;
	__sync_fetch_and_add(&c->changes, 1);
	doorbell.ringbuf_output(&rung, sizeof(rung), 0); /* full: it is ringing already */
}

/* User space looks for room when this grows. */
static __always_inline void lose_process(void)
{
	struct control *c = the_control();
	if (c)
		__sync_fetch_and_add(&c->lost_processes, 1);
}

/* Storage for a task that belongs to a tree. NULL: refused. Made empty and filled then, which costs
 * no stack: whoever sees it between finds slot 0, and asks the truth while a change goes on. */
static __always_inline struct task_state *follow(void *task, u32 slot, u32 flags, const struct membership *wanted)
{
	struct task_state *state = tasks.task_storage_get(task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!state)
		return NULL;
	if (wanted)
		state->wanted = *wanted;
	state->since_ns = bpf_ktime_get_ns();
	state->flags = flags;
	state->slot = slot;
	return state;
}

/* The state of a task whose cached decision may be out of date. */
static struct task_state *ask_truth(void *task, struct task_state *state, u32 *refused)
{
	struct process_key key = process_of(task);
	struct membership *m = traced_tgids.lookup(&key);
	u32 slot = m ? m->slot : 0;

	if (state) {
		if (state->slot != slot)
			state->slot = slot;
		return state;
	}
	struct membership *waits = m ? NULL : waiting.lookup(&key);
	if (!slot && !waits)
		return NULL;
	state = follow(task, slot, waits ? UNSEEN | LOST : UNSEEN, waits);
	if (!state && refused) {
		*refused = slot;
		if (waits)
			lose(LOST_STORAGE_REFUSED);
	}
	return state;
}

/* Before Linux 6.2 a look-up fails, too, while a preempted task is inside another one on this CPU. */
static __always_inline void look_up_failed(void *task, u32 *refused)
{
#ifdef STORAGE_LOOKUP_MAY_FAIL
	struct process_key key = process_of(task);
	struct membership *m = traced_tgids.lookup(&key);
	if (m)
		*refused = m->slot;
#endif
}

/* The hot path's question. A task that has no storage of any BPF program is told by one load; the
 * helper costs ten times that. `refused`, where a call ends: the slot of a task to which the kernel
 * gives no storage now, because the CPU was taken from another that was just being given some. */
static __always_inline struct task_state *state_of(void *task, u32 *refused)
{
	struct control *c = the_control();
	struct task_state *state = NULL;

	if (has_pointer(task, OFF_task_struct_bpf_storage)) {
		state = tasks.task_storage_get(task, 0, 0);
		if (!state && refused)
			look_up_failed(task, refused);
	}
	if (c && c->changes != c->settled)
		return ask_truth(task, state, refused);
	return state;
}

/* The deepest listed cgroup that holds a task, in any hierarchy: v1, named and v2 are all in the one
 * list that is walked here. `moved` is where it was just moved to, or NULL.
 *
 * One loop for both walks, along the hierarchies and up in each: so the bound is on the steps
 * together, and the verifier sees few states. */
static u32 cgroup_slot(const void *task, void *moved)
{
	struct control *c = the_control();
	if (!c || !c->hierarchies)
		return 0;

	void *css_set = read_pointer(task, OFF_task_struct_cgroups);
	void *head = css_set + OFF_css_set_cgrp_links, *link = head, *cgroup = NULL;
	void *moved_root = moved ? read_pointer(moved, OFF_cgroup_root) : NULL;
	struct cgroup_key key = {};
	u32 best = 0, best_level = 0;

	for (int step = 0; step < MAX_CGROUP_STEPS; step++) {
		if (!cgroup) {
			link = read_pointer(link, 0);
			if (link == head)
				return best;
			cgroup = read_pointer(link - OFF_cgrp_cset_link_cgrp_link, OFF_cgrp_cset_link_cgrp);
			void *root = read_pointer(cgroup, OFF_cgroup_root);
			if (root == moved_root)
				cgroup = moved;
			key.hierarchy = read32(root, OFF_cgroup_root_hierarchy_id);
			if (!(c->hierarchies >> (key.hierarchy & 63) & 1))
				cgroup = NULL;
			continue;
		}
		key.id = read64(read_pointer(cgroup, OFF_cgroup_kn), OFF_kernfs_node_id);
		u32 *slot = traced_cgroups.lookup(&key);
		if (!slot) {
			/* `self` is the first member, so the parent's is the parent */
			cgroup = read_pointer(cgroup, OFF_cgroup_self_parent);
			continue;
		}
		u32 level = read32(cgroup, OFF_cgroup_level);
		if (!best || level > best_level) {
			best = *slot;
			best_level = level;
		}
		cgroup = NULL;
	}
	lose(LOST_INCOMPLETE_TREE);
	return best;
}

enum placed { AS_IT_WAS, PLACED, FOUND_NO_ROOM };

/* A process is in this listed cgroup now. The truth is looked up twice: before what takes the verifier
 * long, and again to write it. */
static __always_inline enum placed place(const void *task, struct process_key *key, u32 cgroup, struct texts *t)
{
	struct membership *m = traced_tgids.lookup(key), *now = &t->member;

	if (m)
		*now = *m;
	else if (cgroup)
		*now = (struct membership){};
	else
		return AS_IT_WAS;
	bool moved = now->cgroup != cgroup;
	now->cgroup = cgroup;
	moved |= settle(task, now, t, false);
	if (!moved)
		return AS_IT_WAS;
	m = traced_tgids.lookup(key);
	if (m) {
		m->cgroup = cgroup;
		m->tree_slot = now->tree_slot;
		m->slot = now->slot;
	} else if (traced_tgids.update(key, now)) {
		if (waiting.update(key, now))
			lose(LOST_PROCESS_LIMIT);
		return FOUND_NO_ROOM;
	}
	return PLACED;
}
