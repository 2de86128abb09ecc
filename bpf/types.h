/* What the kernel and user space share. exporter/kernel/records.py declares the same once more,
 * and a test compares sizes and offsets of both. */
#ifndef PROCTREE_TYPES_H
#define PROCTREE_TYPES_H

/* A process is its number and its start time, so that a number used again is another process. */
struct process_key {
	u32 tgid;
	u32 reserved;
	u64 start_ns; /* task_struct.start_boottime of the group leader */
};

/* Why a process is followed. Each field is a slot or 0; the first that is set decides. */
struct membership {
	u32 own;    /* a listed root without follow_forks: not inherited */
	u32 tree;   /* the nearest listed root PID at or above it: inherited */
	u32 cgroup; /* the deepest listed cgroup that holds it */
	u32 node;   /* `all`, and PID 1, which ranks with it: inherited */
	u32 slot;   /* the outcome; 0: not followed */
};

/* In the place of a slot: this process and its descendants are the exporter's own. */
#define SLOT_EXCLUDED 0xffffffffu

/* A call by ABI (top 4 bits) and number. */
#define CODE_ABI_SHIFT 28
#define CODE_NUMBER 0x0fffffffu
#define NUMBER_UNKNOWN CODE_NUMBER /* no table has it */
#define NUMBER_OTHER (CODE_NUMBER - 1) /* no room for an entry of its own */

#define ERRNO_UNKNOWN 0u

/* The decision, and what is cached beside it. It lives in the task's own storage and dies with
 * it. Written by the task itself; others write `slot` and, while `flags` has LOST, `wanted`. */
#define CACHED_CALLS 4
struct task_state {
	u64 entry_ns; /* when the call that it is in began; 0: in none that we saw begin */
	u32 slot;
	u32 code;
	u32 flags;
	u32 reserved;
	u64 cached_call[CACHED_CALLS]; /* slot << 32 | code, so that no change of slot outdates it */
	u32 cached_id[CACHED_CALLS];
	u64 since_ns; /* when following began */
	struct membership wanted; /* with LOST: what it would be if there were room */
};
#define NEWBORN 1u /* made by fork: its first event is the return of its parent's call */
#define UNSEEN 2u  /* followed since it runs, no event seen: it may be in a call */
#define LOST 4u    /* belongs to a tree, but traced_tgids was full */

/* One tree. */
struct slot_state {
	u64 forks;
	u64 execs;
	u64 exits_ok;
	u64 exits_error;
	u64 exits_signal;
	u64 lost_processes; /* that did not fit into traced_tgids */
	u32 other_id;       /* aggregate of what has no room of its own; set by user space */
	u32 calls;          /* aggregates in use, against CALLS_PER_SLOT */
	u32 errors;         /* entries of call_errors in use, against ERRORS_PER_SLOT */
	u32 reserved;
};

struct call_key {
	u32 slot;
	u32 code;
};

struct error_key {
	u32 id;
	u32 error;
};

struct cgroup_key {
	u32 hierarchy;
	u32 reserved;
	u64 id;
};

/* One element, mapped by user space. The kernel writes `changes` and `edges_lost`, user space the
 * rest. */
struct control {
	u64 changes;     /* of membership, so far */
	u64 settled;     /* of these, carried into the storage of every thread; ~0: none for sure */
	u64 hierarchies; /* bit (id & 63) of each cgroup hierarchy with a listed cgroup */
	u64 syncing;     /* keep every edge (child, parent) */
	u64 edges_lost;  /* that found no room: somebody may be missing from a tree */
};

enum lost_reason {
	LOST_STORAGE_REFUSED, /* calls of threads that got no task storage */
	LOST_PROCESS_LIMIT,   /* calls of processes that found traced_tgids full */
	LOST_CALL_LIMIT,      /* calls without an aggregate, not even the tree's `other` */
	LOST_INCOMPLETE_TREE, /* processes that could not be told to belong to a tree */
	LOST_REASONS,
};

/* What the iterators write. */
struct process_record {
	struct process_key key;
	struct process_key parent;
	struct membership member;
	u32 flags;
};
#define PROCESS_ALIVE 1u
#define PROCESS_KERNEL 2u
#define PROCESS_KNOWN 4u /* has an entry in traced_tgids */

struct thread_record {
	struct process_key key;
	u64 entry_ns;
	u32 tid;
	u32 slot;
	u32 code;
	u32 state; /* task_struct.__state */
};

enum sync_result {
	SYNC_CHANGED,
	SYNC_NO_ROOM,    /* traced_tgids is full: worth another try when something has ended */
	SYNC_NO_STORAGE, /* the kernel refused task storage: the thread asks itself at each event */
};

#endif
