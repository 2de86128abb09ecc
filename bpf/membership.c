/* Who belongs to which tree.
 *
 * traced_tgids is the truth, a thread's storage its cached copy. Whoever changes the truth counts
 * it in control.changes; until user space has carried the change into the storage of every thread
 * (control.settled), each thread asks the truth at each event. So no thread keeps an old decision
 * for even one call, and the settled state costs one comparison. */

static __always_inline u32 decide(const struct membership *m)
{
	u32 slot = m->own ? m->own : m->tree ? m->tree : m->cgroup ? m->cgroup : m->node;
	return slot == SLOT_EXCLUDED ? 0 : slot;
}

static __always_inline void changed(void)
{
	struct control *c = the_control();
	u8 rung = 1;

	if (!c)
		return;
	__sync_fetch_and_add(&c->changes, 1);
	doorbell.ringbuf_output(&rung, sizeof(rung), 0); /* full: it is ringing already */
}

/* Storage for a task that belongs to a tree. NULL: refused. */
static __always_inline struct task_state *follow(void *task, u32 slot, u32 flags, const struct membership *wanted)
{
	struct task_state fresh = { .slot = slot, .flags = flags, .since_ns = bpf_ktime_get_ns() };

	if (wanted)
		fresh.wanted = *wanted;
	return tasks.task_storage_get(task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* The state of a task whose cached decision may be out of date. */
static struct task_state *ask_truth(void *task, struct task_state *state, bool ends)
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
	if (!state && ends)
		lose(LOST_STORAGE_REFUSED);
	return state;
}

/* Before Linux 6.2 a look-up fails while a preempted task is inside another one on this CPU. */
static __always_inline void look_up_failed(void *task)
{
#ifdef STORAGE_LOOKUP_MAY_FAIL
	struct process_key key = process_of(task);
	struct membership *m = traced_tgids.lookup(&key);
	if (m && m->slot)
		lose(LOST_STORAGE_REFUSED);
#endif
}

/* The hot path's question. `ends`: asked at the end of a call. A task that has no storage of any
 * BPF program is told by one load; the helper costs ten times that. */
static __always_inline struct task_state *state_of(void *task, bool ends)
{
	struct control *c = the_control();
	struct task_state *state = NULL;

	if (has_pointer(task, OFF_task_struct_bpf_storage)) {
		state = tasks.task_storage_get(task, 0, 0);
		if (!state && ends)
			look_up_failed(task);
	}
	if (c && c->changes != c->settled)
		return ask_truth(task, state, ends);
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
