/* The texts by which people name processes and cgroups: read here, and run through automata. */

#define PATH_BYTES TEXT_BYTES
#define CMDLINE_BYTES 4096
#define COMM_BYTES 16
#define MAX_PARTS 64 /* names in a path, and mounts on the way */

/* One for each place that may be interrupted by another on this CPU. */
struct texts {
	struct event event;
	struct membership member; /* not on the stack: what is in memory the verifier does not follow */
	struct tree tree;
	char comm[32]; /* 16, and room for a chunk */
	u32 comm_length;
	char exe[2 * PATH_BYTES]; /* written from the middle to the front; ends at PATH_BYTES */
	u32 exe_at;
	u32 exe_length;
	char cmdline[CMDLINE_BYTES];
	u32 cmdline_length;
	struct verdict {
		u64 excluded;
		u32 rule; /* the first that holds, and is no `exclude` */
		u32 match;
		u32 alone;
	} verdict;
};
enum place { AT_FORK, AT_EXEC, AT_ATTACH, AT_MKDIR, AT_RMDIR, AT_ITERATOR, AT_SPAN_EXEC, AT_SPAN_CALL, PLACES };
BPF_PERCPU_ARRAY(scratch, struct texts, PLACES);

static __always_inline struct texts *texts_at(u32 place)
{
	return scratch.lookup(&place);
}

static __always_inline void ring(struct event *event)
{
	struct control *c = the_control();
	u32 length = event->length;

	if (length > TEXT_BYTES - 1)
		length = TEXT_BYTES - 1;
	if (doorbell.ringbuf_output(event, sizeof(*event) - TEXT_BYTES + length, 0) && c)
		__sync_fetch_and_add(&c->events_lost, 1);
}

/* The path of an open file: from the file up to the root, over mounts. Puts it so that it ends at PATH_BYTES;
 * a path that is too long is cut at the front, and begins with no slash. A file that is in no folder,
 * as memfd_create() makes them, has a name all the same. */
static __always_inline void read_path(void *file, struct texts *t)
{
	volatile u32 *exe_at = &t->exe_at; /* in memory: the verifier need not tell all paths apart */

	*exe_at = PATH_BYTES;
	t->exe_length = 0;
	if (!file)
		return;
	void *dentry = read_pointer(file, OFF_file_f_path_dentry);
	void *mount = read_pointer(file, OFF_file_f_path_mnt) - OFF_mount_mnt;
	*exe_at += 1; /* behind a slash, which belongs to the text only once the root is reached */
	for (int part = 0; part < MAX_PARTS; part++) {
		if (dentry == read_pointer(mount, OFF_mount_mnt + OFF_vfsmount_mnt_root)) {
			void *above = read_pointer(mount, OFF_mount_mnt_parent);
			if (above == mount) {
				*exe_at -= 1;
				break;
			}
			dentry = read_pointer(mount, OFF_mount_mnt_mountpoint);
			mount = above;
			continue;
		}
		void *parent = read_pointer(dentry, OFF_dentry_d_parent);
		if (parent == dentry && *exe_at <= PATH_BYTES) {
			*exe_at -= 1;
			break;
		}
		u32 length = read32(dentry, OFF_dentry_d_name_len) & 255, at = *exe_at - 1;
		if (at > PATH_BYTES || at < length + 2)
			break;
		at = (at - length - 1) & (PATH_BYTES - 1);
		asm volatile("" : "+r"(length)); /* Linux 6.12 has lost its bound in comparing `length + 2` */
		length &= 255;
		t->exe[at] = '/';
		bpf_probe_read_kernel(t->exe + at + 1, length, read_pointer(dentry, OFF_dentry_d_name_name));
		*exe_at = at + 1;
		dentry = parent;
	}
	t->exe[PATH_BYTES] = TEXT_END;
	t->exe_length = PATH_BYTES - *exe_at;
}

/* /proc/PID/exe */
static __always_inline void read_exe(const void *task, struct texts *t)
{
	void *mm = read_pointer(task, OFF_task_struct_mm);

	read_path(mm ? read_pointer(mm, OFF_mm_struct_exe_file) : NULL, t);
}

static __always_inline void read_comm(const void *task, struct texts *t)
{
	u32 length = 0;

	bpf_probe_read_kernel(t->comm, COMM_BYTES, task + OFF_task_struct_comm);
	while (length < COMM_BYTES - 1 && t->comm[length])
		length++;
	t->comm[length & (COMM_BYTES - 1)] = TEXT_END;
	t->comm_length = length;
}

/* Of the current task: arguments with NULs between, without the last. */
static __always_inline void read_cmdline(const void *task, struct texts *t)
{
	void *mm = read_pointer(task, OFF_task_struct_mm);
	u64 from = read64(mm, OFF_mm_struct_arg_start), length = read64(mm, OFF_mm_struct_arg_end) - from;

	if (length > CMDLINE_BYTES)
		length = CMDLINE_BYTES;
	if (!length || bpf_probe_read_user(t->cmdline, length, (void *)from))
		length = 1;
	length = (length - 1) & (CMDLINE_BYTES - 1);
	t->cmdline[length] = TEXT_END;
	t->cmdline_length = length;
}

/* Loops over texts go in chunks, with one branch for each: what the verifier has to follow grows with
 * the branches, and it knows each value of `at` (which the compiler, after this, does not). Lengths
 * stay in memory, so that it need not tell apart how a loop ended. */
#define CHUNK 32
#define FOR_EACH_CHUNK(at, length, limit) \
	for (u32 at = 0; at < (limit); at += CHUNK) { \
		asm volatile("" : "+r"(at)); \
		if (at > *(volatile u32 *)(length)) \
			break;
#define END_FOR_EACH }

static __always_inline u64 hash_with(u64 hash, u64 more)
{
	return (hash ^ more) * 0x100000001b3ULL;
}

/* FNV-1a, 64 bits, over the text and zeros up to the end of its last chunk. */
static __always_inline u64 hash_of(const char *text, u32 *length)
{
	u64 hash = 0xcbf29ce484222325ULL;

	FOR_EACH_CHUNK(at, length, TEXT_BYTES)
		s64 left = (s64)*length - at;
#pragma unroll
		for (u32 i = 0; i < CHUNK; i++) {
			u64 inside = (i - left) >> 63; /* all bits, or none */
			asm volatile("" : "+r"(inside));
			hash = hash_with(hash, (u8)text[at + i] & inside);
		}
	END_FOR_EACH
	return hash;
}

static __always_inline struct row *row_of(struct automata *automata, u32 state)
{
	return (struct row *)(automata->rows + (state & (MAX_STATES - 1)) * sizeof(struct row));
}

/* Runs an automaton over a text that TEXT_END follows; `limit` is a constant. The row of a state that
 * has come to TEXT_END, or is dead, leads to itself. */
static __always_inline u64 run(u32 state, const char *text, u32 *length, const u32 limit)
{
	int only = 0;
	struct automata *automata = states.lookup(&only);
	if (!automata)
		return 0;
	struct row *row = row_of(automata, state);
	u64 bits = row->passes;
	FOR_EACH_CHUNK(at, length, limit)
#pragma unroll
		for (u32 i = 0; i < CHUNK; i++) {
			row = row_of(automata, row->next[(u8)text[at + i]]);
			bits |= row->passes;
		}
	END_FOR_EACH
	return bits;
}

static __always_inline struct rules *the_rules(u32 *generation)
{
	struct control *c = the_control();
	*generation = c ? c->generation & 1 : 0;
	return rules.lookup((int *)generation);
}
