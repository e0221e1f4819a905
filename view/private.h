/* Shared by the files of view/. syscalls/file, a fuzzer and a benchmark use some of its functions, too. */
#ifndef CALLGATE_VIEW_PRIVATE_H
#define CALLGATE_VIEW_PRIVATE_H

#include <string.h>

#include "base/io.h"
#include "view/view.h"

#define VIEW_BUCKETS 512u
#define VIEW_MOUNT_IDS_MAX 64u
#define VIEW_BASE_NAMES 64u
#define VIEW_LINKS_MAX 40 /* the kernel's MAXSYMLINKS: path_resolution(7) */

/* Names in the tmpfs of view_attach_mounts. The first becomes the program's root, above which are the others. */
#define VIEW_ROOT_NAME ".callgate-root"
#define VIEW_STANDIN_NAME ".callgate-listings"
#define VIEW_NOLINKS_NAME ".callgate-still"
#define VIEW_EMPTY_NAME ".callgate-empty"
#define VIEW_MORE_NAME ".callgate-more"
#define VIEW_PROC_NAME ".callgate-proc"
#define VIEW_MORE_PATH "/dev/.callgate" /* used in place of VIEW_MORE_NAME within the program's root */

/* A virtual path that is the root of a mount, a link of the view, or a covered name. */
struct node {
	struct node *next; /* in its bucket */
	uint32_t hash;
	uint32_t virt_len;
	struct mount *mount; /* NULL: a link or a covered name */
	char *link;          /* target of a link; mount and link NULL: a covered name, at which nothing exists */
	char virt[];
};

static inline bool node_is_covered(const struct node *node)
{
	return !node->mount && !node->link;
}

struct shown; /* skeleton.c: its names */

/* The name of a directory, which has one name at a time in each mount. */
struct base_name {
	uint64_t mount, ino;
	uint32_t major, minor;
	uint64_t confirmed_ns;
	unsigned changes;
	size_t len;
	char *virt; /* NULL: unused */
};

struct base_names {
	unsigned changes; /* counts the calls that changed names */
	bool refused;     /* pidfd_getfd(2) is not permitted: containers do that */
	struct base_name name[VIEW_BASE_NAMES];
};

struct view {
	const struct policy *policy;
	pid_t run_root;           /* the supervisor, whose descendants are the run; 0: the program does not run */
	struct shown *shown;
	struct base_names *bases; /* NULL: names are not cached */
	struct mount **mount;     /* in the order in which they were added */
	size_t mounts;
	struct held **held;       /* directories of single files */
	size_t helds;
	void *plain;              /* used while building: host paths that are not links; a tsearch(3) tree */
	struct mount *root;       /* the skeleton */
	struct mount *top;        /* "/": the skeleton, or the host's "/" when the policy grants it */
	char *skeleton_host;
	int standin_fd;           /* directory of the stand-in directories; before view_attach_mounts the skeleton */
	char *standin_host;
	int host_root_fd;         /* the host's "/", O_PATH; -1: use this process's root */
	bool attached;            /* the kernel resolves virtual paths: see view_attach_mounts */
	int nolinks_fd;             /* a copy of the program's root, mounted with nosymfollow; -1: no copy */
	bool incomplete;          /* not every mount is at its virtual path for the kernel */
	int proc_fd;              /* the supervisor's /proc, O_PATH */
	struct mount *machine;    /* /proc's files that belong to no process; NULL: they are in the program's /proc */
	struct facts *facts;      /* facts.c */
	bool own_network;         /* see view_set_network */
	struct terminals *terminals; /* terminals.c; NULL only while the view is made */
	struct view_mount_id {
		uint64_t copy_id, id;
	} mount_id[VIEW_MOUNT_IDS_MAX]; /* see the function view_mount_id */
	size_t mount_ids;
	struct node *bucket[VIEW_BUCKETS]; /* last: the small fields, which every call reads, share cache lines */
};

/* A prefix of a canonical path, in whole components. Its hash extends the hash of the next shorter prefix. */
struct view_prefix {
	const char *virt;
	size_t virt_len; /* of the whole path */
	size_t start;    /* of the last component */
	size_t len;      /* of the prefix */
	uint64_t hash;
};

static inline struct view_prefix view_begin_prefixes(const char *virt, size_t virt_len)
{
	return (struct view_prefix){.virt = virt, .virt_len = virt_len};
}

/* Extends the prefix by one component; the first one is "/first". False at the end of the path. */
static inline bool view_extend_prefix(struct view_prefix *prefix)
{
	const char *slash;
	uint64_t head = 0, tail = 0;
	size_t len;

	if (prefix->len + 1 >= prefix->virt_len)
		return false;
	prefix->start = prefix->len + 1;
	slash = memchr(prefix->virt + prefix->start, '/', prefix->virt_len - prefix->start);
	prefix->len = slash ? (size_t)(slash - prefix->virt) : prefix->virt_len;
	len = prefix->len - prefix->start;
	if (len >= 8) {
		memcpy(&head, prefix->virt + prefix->start, 8);
		memcpy(&tail, prefix->virt + prefix->len - 8, 8);
	} else {
		for (size_t i = prefix->start; i < prefix->len; i++)
			head = head << 8 | (unsigned char)prefix->virt[i];
	}
	/* Need not be collision-resistant: matches are confirmed by comparing the names. */
	prefix->hash = (prefix->hash ^ head ^ len) * UINT64_C(0x9e3779b97f4a7c15);
	prefix->hash = (prefix->hash ^ prefix->hash >> 32 ^ tail) * UINT64_C(0xd6e8feb86659fd93);
	return true;
}

static inline uint32_t view_get_prefix_hash(const struct view_prefix *prefix)
{
	return (uint32_t)(prefix->hash >> 32);
}

static inline uint32_t view_hash_path(const char *virt, size_t len)
{
	struct view_prefix prefix = view_begin_prefixes(virt, len);

	while (view_extend_prefix(&prefix))
		;
	return view_get_prefix_hash(&prefix);
}

/* ---- locate.c: nodes, and resolution without system calls ---- */

/* The node at exactly this path, or NULL. */
struct node *view_find_node(const struct view *view, const char *virt, size_t len, uint32_t hash);
/* Adds a node: takes mount, copies the texts. 0, -ENOMEM, or -EEXIST: the first node of a name stays. */
int view_add_node(struct view *view, const char *virt, struct mount *mount, const char *link);
/* The target of a link of the view itself (a policy's link, /proc/self, /proc/thread-self), or NULL. */
const char *view_get_link_target(const struct task *task, const struct node *node, const char *virt, char buffer[64]);
/* Sets mount and rest of a place by its virt. The mount with the longest path wins. 0; -ENOTDIR below a single file. */
int view_set_place(const struct view *view, struct place *place);
/* True at or below a covered name: nothing exists there, even if the policy grants it. */
bool view_is_covered(const struct place *place);
/* True when a mount is visible at this path in place of the skeleton. */
bool view_is_in_host_tree(const struct view *view, const char *virt);

/* Writes the path `rest` ("": none) below the canonical path. Returns the length or -ENAMETOOLONG. */
int view_join_path(const char *virt, const char *rest, char *out, size_t cap);
/* Shortens the virt of a place by its last component. */
void view_drop_component(struct place *place);

/* ---- locate.c: mounts ---- */

/* Adds a mount at virt, unless a mount is there; "/" becomes the top. Takes fd, also on failure. 0 or -ENOMEM. */
int view_add_mount(struct view *view, const char *virt, const char *host, int fd, const char *base, unsigned flags,
		   const char *rule);

/* A directory through which single files are opened. */
struct held {
	int fd; /* O_PATH */
	unsigned users;
	char name[]; /* host path; after view_attach_mounts "@" and the virtual path */
};
/* The held directory of this name, or NULL. */
struct held *view_find_held_dir(const struct view *view, const char *name);
/* Adds a held directory. Takes fd, also on failure; closed with the directory's last mount. NULL without memory. */
struct held *view_add_held_dir(struct view *view, const char *name, int fd);
/* view_add_mount for a single file in a held directory. */
int view_add_file(struct view *view, const char *virt, const char *host, struct held *held, unsigned flags,
		  const char *rule);
/* From now on the mount is opened through fd (taken) or, when it is not NULL, through `held`. */
void view_set_mount_fd(struct mount *mount, int fd, struct held *held);
void view_mounts_free(struct view *view);

/* ---- open.c, walk.c ---- */

/*
 * The status of the object at a place, and (*ret_dirfd, *ret_path) by which more can be asked about it. *ret_fd (-1 at
 * first): the descriptor that was opened for this, owned by the caller. 0 or -errno.
 */
int view_stat_place(const struct place *place, struct stat *ret_stat, int *ret_dirfd, const char **ret_path,
		    int *ret_fd);

/* Takes the next component off a path. 1; 0 at the end; -ENAMETOOLONG. *ret_last: only slashes follow. */
int view_take_component(const char **todo, char name[NAME_MAX + 1], bool *ret_last);

/* ---- skeleton.c, listing.c: int is 0 or -errno ---- */

/* True for a directory of the skeleton, which is not a link before the program runs. */
bool view_skeleton_has_dir(const struct view *view, const char *virt, size_t len);
struct shown *view_shown_create(void); /* NULL: no memory */
void view_shown_free(struct shown *shown);

/* Makes a directory of the skeleton, with its ancestors; follows no link. */
int view_skeleton_mkdir(const struct view *view, const char *virt);
/* Makes a directory, a link or an empty file. -EEXIST when the name exists. */
int view_make_entry(int dirfd, const char *name, mode_t type, const char *target);
/* Makes the parents of a path and an entry of that type, a link with `target`: it gives listings a name. */
int view_skeleton_add_entry(const struct view *view, const char *virt, mode_t type, const char *target);
/* Makes a file of the skeleton with its content, and its parents. */
int view_skeleton_add_file(const struct view *view, const char *virt, const void *text, size_t len);
/* As view_skeleton_add_entry, in the skeleton or in a MOUNT_PRIVATE tree. A host's tree is left as it is. */
int view_add_listed_name(const struct view *view, const char *virt, mode_t type, const char *target);
/* Makes the stand-in directory of a place and brings its entries up to date. */
int view_refresh_standin(const struct place *place);
/* Opens the stand-in directory of a place, which exists. A descriptor owned by the caller, or -errno. */
int view_open_standin(const struct place *place, int flags);

/* ---- building; each returns 0 or -errno ---- */

/* The MOUNTS_* restrictions for a mount of this host path at this virtual path. */
unsigned view_get_restrictions(const struct view *view, unsigned flags, const char *host, const char *virt);
/* Adds the host's symbolic links in a path as the policy has it: /lib for /usr/lib, /var/run for /run. */
int view_add_links(struct view *view, const char *written);
/* Adds the links of a merged /usr: programs name their loader /lib64/… */
int view_add_merged_usr(struct view *view);
/* Covers the scratch directories of all runs, and every procfs but /proc, in the mounts added so far. */
int view_add_covered_names(struct view *view, const char *scratch_base);
/* True for a descriptor in a procfs, which no grant may name, or when that cannot be determined. */
bool view_is_procfs(int fd);

/* ---- facts.c ---- */

/* scratch_fd is borrowed. 0 or -ENOMEM. */
int facts_create(struct view *view, int scratch_fd);
void facts_free(struct facts *facts);
/* Whether facts.c has a path below /proc ("vmstat") or, with of_process, below /proc/PID ("net/dev", "net"). */
bool facts_hold(const struct facts *facts, const char *leaf, bool of_process);
/* The mount of the files of facts.c. Opened only by facts_fill(), which makes the files. */
const struct mount *facts_mount(const struct facts *facts);
/* 0 or -errno. */
int facts_fill(const struct view *view);
/* ---- terminals.c; places of MOUNT_PTS ---- */

/*
 * Makes /dev/pts and /dev/ptmx. own_fd: a detached devpts, borrowed; -1: that of the host, unless the run is to have a
 * mount namespace (mounts). Without a devpts there is neither. 0 or -errno.
 */
int terminals_build(struct view *view, int own_fd, bool mounts);
void terminals_free(struct view *view);
/* Opens a file: ptmx makes a pair. A descriptor owned by the caller, or -errno. */
int terminals_open(const struct place *place, int flags);
/* True for /dev/pts itself. */
static inline bool terminals_is_directory(const struct place *place)
{
	return place->virt_len == place->mount->virt_len && !(place->mount->flags & MOUNT_FILE);
}
/* True for a slave of the host's that is not of the run; writes: for each name that such a slave could have. */
bool terminals_hides(const struct place *place, bool writes);
/* True for the name of an entry of /dev/pts; terminals_each: all of them. */
bool terminals_shows(const struct view *view, const char *name);
void terminals_each(const struct view *view, void (*each)(void *ctx, const char *name, mode_t type), void *ctx);

/* ---- procfs.c ---- */

enum proc_kind {
	PROC_ABSENT, /* not allowlisted, or not a process of the run */
	PROC_FILE,
	PROC_DIR,
	PROC_MAGIC, /* cwd, exe, root, fd/N: a link to an object */
};
/* The kind of a canonical path below /proc (without "self"). task may be NULL. */
enum proc_kind proc_classify_path(const struct view *view, const struct task *task, const char *rest);
/* The path below /proc of a place in /proc; "" for /proc itself. */
static inline const char *view_proc_rest(const struct place *place)
{
	return place->virt_len > place->mount->virt_len ? place->virt + place->mount->virt_len + 1 : "";
}

/* What follows PID/ or PID/task/TID/ in a path below /proc; NULL: the path begins with neither. */
const char *proc_leaf(const char *rest);
/* True for a path below /proc that belongs to no process. */
bool proc_path_is_machine_wide(const char *rest);
/* True for a directory of files that belong to no process. */
bool proc_path_is_directory(const char *rest);
/* True when the file of a process may be opened for writing: its comm. */
bool proc_file_is_writable(const char *rest);
/* Calls each with the entries that belong to no process, of /proc (rest "") or of a directory below it. */
void proc_visit_entries(const char *rest, void (*each)(void *ctx, const char *name, mode_t type), void *ctx);
/* Calls each with the links of /proc to a file or directory of the calling process. */
void proc_each_machine_link(void (*each)(void *ctx, const char *name, mode_t type), void *ctx);
/* True for the directory "net" of a process or thread; calls each with the entries of it. */
bool proc_is_net(const char *rest);
void proc_each_net(void (*each)(void *ctx, const char *name, mode_t type), void *ctx);

#endif
