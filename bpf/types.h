/* What the kernel and user space share. exporter/kernel/records.py declares the same once more,
 * and a test compares sizes and offsets of both. */
#ifndef PROCTREE_TYPES_H
#define PROCTREE_TYPES_H

/* A process is its number and its start time, so that a number used again is another process. */
struct process_key {
	u32 tgid;
	u32 reserved; /* 0; where it is another's parent: BY_BIRTH, or it may have adopted it */
	u64 start_ns; /* task_struct.start_boottime of the group leader */
};

#define BY_BIRTH 1u

/* Why a process is followed. The first six are slots or 0, in this order: the first that is set,
 * and whose target does not exclude the process, decides. `match` and `alone` rank alike: of these
 * the one whose rule is earlier in the list. */
struct membership {
	u32 own;    /* a listed root without follow_forks: not inherited */
	u32 tree;   /* the nearest listed root PID at or above it: inherited */
	u32 cgroup; /* the deepest listed cgroup that holds it */
	u32 match;  /* the first `match` that held for it or an ancestor: inherited */
	u32 alone;  /* a `match` without follow_forks that holds for its program: until the next exec */
	u32 node;   /* `all`, and PID 1, which ranks with it: inherited */
	u32 tree_slot; /* the outcome: its tree; 0: not followed */
	u32 slot;      /* where its calls are counted: its tree, or what `group_by` splits off */
	u64 excluded;  /* a bit for each `exclude` that held for it or an ancestor: inherited */
	u64 sync;      /* in which user space decided this, last: inherited; 0: the kernel did */
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
	u64 began_ns; /* of the call that is told of as a span, or 0 */
	u64 ended_ns; /* as it was counted: the time when it is told of is later */
};
#define NEWBORN 1u /* made by fork: its first event is the return of its parent's call */
#define UNSEEN 2u  /* followed since it runs, no event seen: it may be in a call */
#define LOST 4u    /* belongs to a tree, but traced_tgids was full */

/* What is known of a tree beforehand. Written by user space. */
struct tree {
	u64 excluded_by; /* bits of membership.excluded: who has one of them is not in it */
	u32 order;       /* of a `match`: its place in the list */
	u32 group_by;    /* enum group_by */
	u32 spans;       /* its target's element of span_rules; 0: it has none */
	u32 reserved;
};

enum group_by { GROUP_BY_NOTHING, GROUP_BY_COMM, GROUP_BY_EXE };

/* One tree, or one program of a tree with `group_by`. */
struct slot_state {
	u64 forks;
	u64 execs;
	u64 exits_ok;
	u64 exits_error;
	u64 exits_signal;
	u32 other_id;       /* aggregate of what has no room of its own; set by user space */
	u32 calls;          /* aggregates in use, against CALLS_PER_SLOT */
	u32 errors;         /* entries of call_errors in use, against ERRORS_PER_SLOT */
	u32 groups;         /* programs with a slot of their own, against MAX_GROUPS */
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

/* A program of a tree, by the hash of its name. */
struct group_key {
	u32 slot;
	u32 reserved;
	u64 hash;
};

/* The words of `match` and `exclude`, and the patterns of cgroups, as automata: one row for each
 * state, made by exporter/kernel/rules.py. State 0 is dead. */
struct row {
	u64 passes; /* bits that hold once this state is reached */
	u16 next[256];
};
/* In no UTF-8 text: a text is taken to end here. */
#define TEXT_END ((char)0xff)

/* Rules are bits. Two generations: user space writes one and then switches to it. */
#define MAX_RULES 64
enum field { FIELD_COMM, FIELD_EXE, FIELD_CMDLINE, FIELD_USER, FIELDS };
struct rules {
	u64 unasked[FIELDS]; /* rules of processes that say nothing about this field */
	u64 any;             /* rules of processes that there are */
	u64 alone;           /* of these: `match` with follow_forks: false */
	u64 excludes;            /* all bits of membership.excluded that mean something */
	u64 excluded[MAX_RULES]; /* `exclude`: its bit of these; 0: it is a `match` */
	u32 slot[MAX_RULES];     /* of a `match` */
	u32 start[FIELDS];       /* first states: comm, exe, cmdline; 0: none */
	u32 cgroup_start;        /* the patterns of cgroups */
	u32 container_start;     /* what paths of containers look like */
	u32 cgroup_slot[MAX_RULES];      /* one for all that match; 0: each has its own */
	u32 cgroup_other[MAX_RULES];     /* for those that find no slot */
	u32 cgroup_hierarchy[MAX_RULES]; /* its number + 1; 0: any */
};

struct user_key {
	u32 generation;
	u32 uid;
};

/* What the doorbell says. Hints: what does not fit is found by a scan. */
enum event_kind {
	EVENT_CHANGED,
	EVENT_CGROUP, /* text: its path */
	EVENT_CGROUP_GONE,
	EVENT_GROUP, /* text: the program; tree: the slot it was split off */
};
#define TEXT_BYTES 1024
struct event {
	u32 kind;
	u32 slot;
	struct cgroup_key cgroup;
	u32 tree;
	u32 length; /* of text */
	char text[TEXT_BYTES];
};

/* One element, mapped by user space. */
struct control {
	u64 changes;     /* of membership, so far */
	u64 settled;     /* of these, carried into the storage of every thread; ~0: none for sure */
	u64 hierarchies; /* bit (id & 63) of each cgroup hierarchy with a listed cgroup */
	u64 syncing;     /* keep every edge (child, parent): the number of the sync, or 0 */
	u64 edges_lost;  /* that found no room: somebody may be missing from a tree */
	u64 generation;  /* of the rules: 0 or 1; user space writes it */
	u64 events_lost; /* that found the doorbell full */
	u64 folded_groups; /* starts of programs that found no slot of their own */
	u64 lost_processes; /* that did not fit into traced_tgids */
	u64 span_events_lost; /* that found the ring `events` full */
};

/* Which spans a target has. Written by user space, but for what the token bucket keeps. */
#define MAX_SPAN_RULES 65 /* the first is no rule */
#define ERROR_WORDS 9     /* errnos up to 575: those of include/linux/errno.h, too */
struct span_rule {
	u64 slower_than_ns; /* ~0: does not matter */
	u64 interval_ns;    /* one token each */
	u64 burst_ns;       /* as many tokens as fit in */
	u64 next_ns;        /* when the bucket will be full again */
	u64 refused;        /* calls that found no token */
	u32 sample;         /* of 2^32 */
	u32 flags;          /* SPANS_… */
	u64 errors[ERROR_WORDS];  /* bits: errnos that matter */
	u64 calls[KNOWN_WORDS]; /* bits by ABI and number: calls that are looked at */
};
#define SPANS_PROCESSES 1u /* tell of the life of processes */
#define SPANS_ARGS 2u      /* and of their command lines */
#define SPANS_ENVIRON 4u   /* and of TRACEPARENT in their environment */

/* What marks an aggregate: the element of span_rules, and why its calls are looked at. */
#define MARK_RULE 0xffffu
#define MARK_CALLS 0x10000u   /* they may become spans */
#define MARK_SESSION 0x20000u /* setsid and setpgid */

/* What the ring `events` tells. Times are CLOCK_MONOTONIC. */
enum span_event_kind {
	SPAN_FORKED,
	SPAN_EXECED,    /* text: the path of the program */
	SPAN_ARGUED,    /* text: arguments, with NULs between */
	SPAN_ENVIRONED, /* text: the value of TRACEPARENT in the environment */
	SPAN_EXITED,
	SPAN_SESSION, /* a session or group of processes was made or joined */
	SPAN_CALLED,
};
struct span_event {
	u32 kind;
	u32 slot;
	struct process_key key;
	u64 time_ns;
};
struct span_forked {
	struct span_event event;
	struct process_key parent;
};
struct span_exited {
	struct span_event event;
	struct process_key parent;
	u32 status; /* as wait(2) has it */
	u32 reserved;
	char comm[16];
};
#define SPAN_TEXT_BYTES 4096
struct span_text {
	struct span_event event;
	u32 length;
	u32 reserved;
	char text[SPAN_TEXT_BYTES];
};
#define SPAN_PATH_BYTES 256
struct span_called {
	struct span_event event;
	u64 began_ns;
	s64 ret;
	u64 args[2];
	u32 tid;
	u32 code;
	u32 length;
	u32 reserved;
	char path[SPAN_PATH_BYTES];
};

/* Where a call names a file: span_arguments, by ABI and number. */
#define ARGUMENT_PATH 0x10u /* and which argument it is */
#define ARGUMENT_FD 0x20u
#define ARGUMENT_EXEC 0x40u /* where it succeeds, the caller's memory is gone */

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
	u32 reserved; /* no padding: Linux 5.15 lets nobody write what was never set */
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
