/* All maps. Their sizes are -D constants, worked out at start from the limits and the number of
 * CPUs (exporter/kernel/sizes.py); README.md beside this file explains each. */
#include "types.h"
#include "fields.h"
#include "arch.h"
#include "duration.h"

BPF_TASK_STORAGE(tasks, struct task_state);

/* Who is followed: the truth that the storage of each thread caches. */
BPF_TABLE("hash", struct process_key, struct membership, traced_tgids, MAX_PROCESSES);
BPF_F_TABLE("hash", struct cgroup_key, u32, traced_cgroups, MAX_CGROUPS, BPF_F_NO_PREALLOC);
BPF_F_TABLE("array", int, struct control, control, 1, BPF_F_MMAPABLE);

/* Slots are never used again, so that nothing cached can be taken for another. */
BPF_TABLE("hash", u32, struct slot_state, slots, MAX_SLOTS);
BPF_TABLE("hash", u32, struct tree, trees, MAX_SLOTS);
BPF_QUEUE(spare_slots, u32, MAX_SLOTS);
BPF_F_TABLE("hash", struct group_key, u32, groups, MAX_SLOTS, BPF_F_NO_PREALLOC);

/* Who is followed by name. */
BPF_ARRAY(rules, struct rules, 2);
struct automata {
	char rows[MAX_STATES * sizeof(struct row)]; /* as bytes: clang takes a minute for so many structs */
};
BPF_F_TABLE("array", int, struct automata, states, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("hash", struct user_key, u64, users, MAX_USERS, BPF_F_NO_PREALLOC);
/* Hash of the path -> slot: on v1 and hybrid machines a container has a cgroup in each hierarchy. */
BPF_F_TABLE("hash", u64, u32, named_cgroups, MAX_SLOTS, BPF_F_NO_PREALLOC);
BPF_ARRAY(lost_calls, u64, LOST_REASONS);

/* While a sync goes on: child -> parent, as it was. */
BPF_F_TABLE("hash", struct process_key, struct process_key, edges, MAX_EDGES, BPF_F_NO_PREALLOC);

/* Processes that belong to a tree and found traced_tgids full, until their threads are marked LOST. */
BPF_F_TABLE("hash", struct process_key, struct membership, waiting, MAX_WAITING, BPF_F_NO_PREALLOC);

/* The count of a call is `untimed` plus the sum of its buckets, by construction. Errors are first,
 * because they are added last and user space reads from the front: they never exceed calls. */
struct aggregate {
	u64 other_errors; /* that found no room in call_errors */
	u64 untimed;
	u64 mark; /* MARK_…: for spans; beside what is written anyway */
	u64 sum_ns;
	u64 buckets[BUCKETS];
};

/* Element id * SHARDS + CPU % SHARDS; user space maps it and reads without a system call. */
BPF_F_TABLE("array", u32, struct aggregate, syscall_aggregate, MAX_AGGREGATES * SHARDS, BPF_F_MMAPABLE);
BPF_TABLE("hash", struct call_key, u32, call_ids, MAX_AGGREGATES);
BPF_QUEUE(free_ids, u32, MAX_AGGREGATES);
BPF_ARRAY(known_calls, u64, KNOWN_WORDS);
BPF_TABLE("hash", struct error_key, u64, call_errors, MAX_ERRORS);

/* Wakes user space when something changed, and says what came or went. */
BPF_RINGBUF_OUTPUT(doorbell, DOORBELL_PAGES);

#ifdef SPANS
/* What a target's spans are, and what is told of them. */
BPF_F_TABLE("array", u32, struct span_rule, span_rules, MAX_SPAN_RULES, BPF_F_MMAPABLE);
BPF_ARRAY(span_arguments, u32, KNOWN_WORDS * 64);
BPF_PROG_ARRAY(tails, 1);
BPF_RINGBUF_OUTPUT(events, EVENT_PAGES);
#endif

static __always_inline struct control *the_control(void)
{
	int only = 0;
	return control.lookup(&only);
}

static __always_inline void lose(u32 reason)
{
	u64 *count = lost_calls.lookup(&reason);
	if (count)
		__sync_fetch_and_add(count, 1);
}
