/* What the files of view/ share. syscalls/file, a fuzzer and a benchmark use some of these functions, too. */
#ifndef CALLGATE_VIEW_PRIVATE_H
#define CALLGATE_VIEW_PRIVATE_H

#include <string.h>

#include "base/io.h"
#include "view/copy/copy.h"
#include "view/prepare.h"
#include "view/view.h"

#define VIEW_NODE_BUCKETS 512u     /* of the hash table of nodes by virtual path */
#define VIEW_MOUNT_IDS_MAX 64u     /* mounts whose copies are reported under the original's id */
#define VIEW_START_DIRS_CACHED 64u /* directories whose virtual path is remembered */
#define VIEW_LINKS_FOLLOWED_MAX 40 /* as many as the kernel follows: path_resolution(7) */

/* Names in the tmpfs of view_attach_mounts. VIEW_ROOT_DIR_NAME becomes the program's root; the others lie outside. */
#define VIEW_ROOT_DIR_NAME ".callgate-root"
#define VIEW_STANDINS_DIR_NAME ".callgate-listings"       /* holds the stand-in directories */
#define VIEW_NOSYMFOLLOW_ROOT_DIR_NAME ".callgate-still"  /* the root once more, in which no link is followed */
#define VIEW_EMPTY_OBJECTS_DIR_NAME ".callgate-empty"     /* what is mounted over covered names */
#define VIEW_PATHLESS_MOUNTS_DIR_NAME ".callgate-more"    /* holds the mounts that have no path of the view */
#define VIEW_PROC_DIR_NAME ".callgate-proc"               /* holds the mount point of a second procfs */
#define VIEW_PROVIDED_FILES_DIR_NAME ".callgate-provided" /* holds files made by callgate, as of provide rules */
#define VIEW_MISSING_NAMES_DIR_NAME ".callgate-names"     /* layers of the overlays that add missing names */
/* path of VIEW_PATHLESS_MOUNTS_DIR_NAME when it lies within the root of the program */
#define VIEW_PATHLESS_MOUNTS_DIR_PATH "/dev/.callgate"

/* A name of the view that differs from the mount around it: a mount, a link, or a covered name. */
struct view_node {
	struct view_node *next; /* next node of the same bucket */
	uint32_t hash;          /* of `virt`: view_hash_path() */
	uint32_t virt_len;      /* length of virt */
	struct mount *mount; /* the mount whose root is here; NULL: a link or a covered name */
	char *link_target;   /* target of a link; NULL together with mount: a covered name, at which nothing exists */
	char virt[];
};

/* Whether the node is a covered name. */
static inline bool node_is_covered(const struct view_node *node)
{
	return !node->mount && !node->link_target;
}

struct skeleton_names; /* the names of the skeleton: skeleton.c */

/* The virtual path of a directory from which relative paths start. In each mount a directory has one path at a time. */
struct start_dir {
	uint64_t mount, ino;
	uint32_t major, minor;
	uint64_t last_confirmed_ns;                /* when the directory was last found at this path */
	unsigned name_change_count_when_confirmed; /* name_change_count at that time */
	size_t len;
	char *virt; /* NULL: the slot is unused */
};

/* Remembers where directories are in the view, from which relative paths start. */
struct start_dir_cache_state {
	unsigned name_change_count; /* counts calls that changed names */
	bool pidfd_getfd_is_refused;     /* pidfd_getfd(2) is not permitted, as in some containers */
	struct start_dir cached_dir[VIEW_START_DIRS_CACHED];
};

/* Processes of the run that the program does not see. The array is owned. */
struct hidden_processes {
	pid_t *pid;
	size_t count, room;
};

/* The tree of names that the program sees. */
struct view {
	const struct policy *policy;
	struct hidden_processes hidden_processes; /* processes that the program does not see: hidden.c */
	pid_t run_root;           /* pid of the supervisor: the run is its descendants; 0: the program does not run */
	struct skeleton_names *skeleton_names;
	struct start_dir_cache_state *start_dir_cache; /* NULL: directory paths are not cached */
	struct mount **mount;     /* in the order in which they were added */
	size_t mount_count;       /* entries of mount[] */
	struct held_dir **held;       /* directories through which single files are opened */
	size_t held_dir_count;        /* entries of held[] */
	void *plain;              /* used while building: a tsearch(3) tree of host paths that are no links */
	struct mount *skeleton_mount;       /* the mount of the skeleton */
	struct copy_size copy_size;         /* of a workspace by copying */
	struct mount *top;        /* the mount of "/": the skeleton, or the host's "/" if the policy grants that */
	char *skeleton_host;      /* host path of the skeleton */
	char runs_name[sizeof("callgate-4294967295")]; /* of directories of runs of this user, without their suffix */
	int standin_fd;           /* has the stand-in directories; before view_attach_mounts the skeleton */
	char *standin_host;       /* host path of the directory with the stand-in directories */
	int host_root_fd;         /* the host's "/", O_PATH; -1: use this process's root */
	const struct view *first_view; /* view_share_proc_of_first_view(); NULL: this is the first view of the run */
	bool is_attached;              /* view_attach_mounts is done: the kernel resolves virtual paths */
	/* no name in a mount with a layer gets a cover, which would be in the way of the second view as well */
	bool shares_layers_with_second_view;
	bool has_placeholders; /* a copy of it had some when it was opened: fill.h */
	int nosymfollow_root_fd;             /* a copy of the program's root, mounted with nosymfollow; -1: none */
	bool some_mount_is_unattached;          /* some mount is not at its virtual path in the kernel */
	const struct mount *first_unattached_mount; /* the first mount that is not at its virtual path in the kernel */
	bool kernel_judges_reads; /* calls that only read are native: view_prepare_kernel_reads() has returned 0 */
	bool covered_dir_can_be_renamed;               /* a directory that has a cover below it can be renamed */
	/* trees of installed programs were not searched for names that globs deny in every directory */
	bool skips_walk_of_installed_files;
	bool program_proc_has_machine_files;        /* the program's procfs has more than its processes */
	char why_reads_are_judged[256]; /* why reading calls are not native, from view_prepare_kernel_reads() */
	int proc_fd;              /* O_PATH descriptor of the supervisor's /proc */
	/* files of /proc that belong to no process; NULL: the program's /proc has them */
	struct mount *proc_files_of_no_process;
	struct facts *facts;      /* the generated files of /proc: facts.c */
	bool has_own_network;         /* the network of the run is its own: view_set_network_files() */
	struct terminals *terminals; /* the pseudoterminals: terminals.c; NULL only while the view is made */
	struct view_mount_id {
		uint64_t copy_id, id;
		/* mount ids of the nosymfollow copy and of the program's mounts, for view_get_mount_id_for_copy() */
	} mount_id[VIEW_MOUNT_IDS_MAX];
	size_t mount_id_count; /* used entries of mount_id[] */
	/* last: the fields above, which every call reads, share cache lines */
	struct view_node *node_bucket[VIEW_NODE_BUCKETS];
};

/* A prefix of a canonical path that ends after a component. Its hash is computed from that of the prefix before. */
struct view_prefix {
	const char *virt; /* the whole path */
	size_t virt_len; /* length of the whole path */
	size_t last_component_start;    /* start of the last component of the prefix */
	size_t len;      /* length of the prefix */
	uint64_t hash;   /* of the prefix, extended component by component */
};

/* The empty prefix of a path, to be extended component by component. */
static inline struct view_prefix view_begin_prefixes(const char *virt, size_t virt_len)
{
	return (struct view_prefix){.virt = virt, .virt_len = virt_len};
}

/* Extends the prefix by one component, at first from "" to "/NAME". False at the end of the path. */
static inline bool view_extend_prefix(struct view_prefix *prefix)
{
	const char *slash;
	uint64_t head = 0, tail = 0;
	size_t len;

	if (prefix->len + 1 >= prefix->virt_len)
		return false;
	prefix->last_component_start = prefix->len + 1;
	slash = memchr(prefix->virt + prefix->last_component_start, '/',
		       prefix->virt_len - prefix->last_component_start);
	prefix->len = slash ? (size_t)(slash - prefix->virt) : prefix->virt_len;
	len = prefix->len - prefix->last_component_start;
	if (len >= 8) {
		memcpy(&head, prefix->virt + prefix->last_component_start, 8);
		memcpy(&tail, prefix->virt + prefix->len - 8, 8);
	} else {
		for (size_t i = prefix->last_component_start; i < prefix->len; i++)
			head = head << 8 | (unsigned char)prefix->virt[i];
	}
	/* Collisions are harmless: names are compared after a match. */
	prefix->hash = (prefix->hash ^ head ^ len) * UINT64_C(0x9e3779b97f4a7c15);
	prefix->hash = (prefix->hash ^ prefix->hash >> 32 ^ tail) * UINT64_C(0xd6e8feb86659fd93);
	return true;
}

/* The hash of the prefix so far, as view_find_node() needs it. */
static inline uint32_t view_get_prefix_hash(const struct view_prefix *prefix)
{
	return (uint32_t)(prefix->hash >> 32);
}

/* The hash of a path, as view_find_node() needs it. */
static inline uint32_t view_hash_path(const char *virt, size_t len)
{
	struct view_prefix prefix = view_begin_prefixes(virt, len);

	while (view_extend_prefix(&prefix))
		;
	return view_get_prefix_hash(&prefix);
}

/* ---- locate.c: nodes, and resolution without system calls ---- */

/* Finds the node at this path, or returns NULL. */
struct view_node *view_find_node(const struct view *view, const char *virt, size_t len, uint32_t hash);
/* Adds a node. Takes mount, copies the texts. 0, -ENOMEM, or -EEXIST: the first node of a path stays. */
int view_add_node(struct view *view, const char *virt, struct mount *mount, const char *link);
/* Returns the target of a link of the view itself: of the policy, /proc/self, /proc/thread-self. Else NULL. */
const char *view_get_link_target(const struct task *task, const struct view_node *node, const char *virt,
				 char buffer[64]);
/*
 * Sets mount and path_below_mount_fd of a place by its virt: the mount with the longest path wins. 0; -ENOTDIR below a
 * file.
 */
int view_set_mount_of_place(const struct view *view, struct place *place);
/* True for a place at or below a covered name. Nothing exists there, even if the policy grants it. */
bool view_is_covered(const struct place *place);
/* True when the path lies in a mount, and not in the skeleton. */
bool view_is_in_host_tree(const struct view *view, const char *virt);

/* Writes virt + "/" + rest; rest may be "". Returns the length or -ENAMETOOLONG. */
int view_join_path(const char *virt, const char *rest, char *out, size_t cap);
/* Removes the last component from the place's path `virt`. */
void view_drop_last_component(struct place *place);

/* ---- locate.c: adding and finding mounts ---- */

/* Adds a mount at virt, unless one is there; "/" becomes view->top. Takes fd, also on failure. 0 or -ENOMEM. */
int view_add_mount(struct view *view, const char *virt, const char *host, int fd, const char *base, unsigned flags,
		   const char *rule);

/* A directory through which single granted files are opened ("held directory"). */
struct held_dir {
	int fd; /* an O_PATH descriptor of the directory */
	unsigned use_count; /* mounts that are opened through it */
	char name[]; /* host path of the directory; after view_attach_mounts "@" and its virtual path */
};
/* Finds the held directory of this name, or returns NULL. */
struct held_dir *view_find_held_dir(const struct view *view, const char *name);
/* Adds a held directory. Takes fd, also on failure; it is closed with the last mount that uses it. NULL: no memory. */
struct held_dir *view_add_held_dir(struct view *view, const char *name, int fd);
/*
 * Adds the mount of a single file, which is opened through its held directory. Does nothing if a mount is at virt
 * already. 0 or -ENOMEM.
 */
int view_add_file(struct view *view, const char *virt, const char *host, struct held_dir *held, unsigned flags,
		  const char *rule);
/* Makes a mount be opened through fd (taken) from now on or, when `held` is not NULL, through that directory. */
void view_replace_mount_fd(struct mount *mount, int fd, struct held_dir *held);
void view_free_mounts(struct view *view);

/* ---- open.c, walk.c: objects and components of paths ---- */

/*
 * Gets the status of the object at a place. (*ret_dirfd, *ret_path) names the object for further calls. *ret_fd (-1
 * before): the descriptor that was opened for this, owned by the caller. 0 or -errno.
 */
int view_stat_place(const struct place *place, struct stat *ret_stat, int *ret_dirfd, const char **ret_path,
		    int *ret_fd);

/* Takes the next component off a path. 1; 0 at the end of the path; -ENAMETOOLONG. *ret_last: only slashes follow. */
int view_read_next_component(const char **todo, char name[NAME_MAX + 1], bool *ret_last);

/* ---- skeleton.c, listing.c: the skeleton and stand-in directories; an int result is 0 or -errno ---- */

/* True for a directory of the skeleton. Before the program runs, such a directory is not a link. */
bool view_skeleton_has_dir(const struct view *view, const char *virt, size_t len);
struct skeleton_names *view_skeleton_names_create(void); /* NULL: out of memory */
void view_skeleton_names_free(struct skeleton_names *shown);

/* Makes a directory of the skeleton and its missing ancestors. Follows no link. */
int view_skeleton_mkdir(const struct view *view, const char *virt);
/* Makes a directory, a link to `target` or an empty file, by `type` (S_IFMT). -EEXIST when the name exists. */
int view_make_entry(int dirfd, const char *name, mode_t type, const char *target);
/* Makes an entry of the skeleton (see view_make_entry) and its missing ancestors: listings then show its name. */
int view_skeleton_add_entry(const struct view *view, const char *virt, mode_t type, const char *target);
/* Makes a file of the skeleton with this content, and its missing ancestors. */
int view_skeleton_add_file(const struct view *view, const char *virt, const void *text, size_t len);
/*
 * Makes an entry (see view_make_entry) that shows the name virt in listings, and its missing ancestors, in the skeleton
 * or a MOUNT_PRIVATE tree. Does nothing in a tree of the host.
 */
int view_add_listing_entry(const struct view *view, const char *virt, mode_t type, const char *target);
/* Makes the stand-in directory of a place, and brings its entries up to date. */
int view_refresh_standin(const struct place *place);
/* Opens the stand-in directory of a place, which must exist. A descriptor owned by the caller, or -errno. */
int view_open_standin(const struct place *place, int flags);

/* ---- building the view; each int result is 0 or -errno ---- */

/* Returns the MOUNTS_* flags for a mount of this host path at this virtual path. */
unsigned view_get_mount_restrictions(const struct view *view, unsigned flags, const char *host, const char *virt);
/* Adds the symbolic links that the host has in a path as the policy writes it: /lib for /usr/lib, /var/run for /run. */
int view_add_links_of_path(struct view *view, const char *written);
/* Adds the links /bin, /lib, /lib64 … of a merged /usr: programs name their loader /lib64/… */
int view_add_merged_usr(struct view *view);
/* Covers the scratch directories of all runs, and every procfs except /proc, in the mounts that were added so far. */
int view_add_covered_names(struct view *view, const char *scratch_base);
/* True for a descriptor in a procfs, which no grant may name, or when statfs(2) fails. */
bool view_is_procfs(int fd);

/* ---- facts.c ---- */

struct buf;
/* Writes the content of /proc/vmstat: zeros; nothing when it cannot be read. */
void facts_write_vmstat(const struct view *view, struct buf *buf);

/* Creates view->facts. scratch_fd is borrowed. 0 or -ENOMEM. */
int facts_create(struct view *view, int scratch_fd);
void facts_free(struct facts *facts);
/* True when facts.c makes this file: below /proc ("vmstat") or, with of_process, below /proc/PID ("net/dev"). */
bool facts_makes_proc_file(const struct facts *facts, const char *leaf, bool of_process);
/* Returns the mount of the files of /proc that facts.c makes. It can be opened after facts_make_files(). */
const struct mount *facts_get_mount(const struct facts *facts);
/* Makes the files of /proc that facts.c provides, unless they exist. 0 or -errno. */
int facts_make_files(const struct view *view);
/* ---- terminals.c: the pseudoterminals of the run, at /dev/pts and /dev/ptmx ---- */

/*
 * Makes /dev/pts and /dev/ptmx of the view. own_fd: a detached devpts, borrowed. With -1 the devpts of the host is
 * used, unless the run will have a mount namespace (`run_has_mount_namespace`). Without a devpts the view has neither
 * name. 0 or -errno.
 */
int terminals_add_to_view(struct view *view, int own_fd, bool run_has_mount_namespace);
void terminals_free(struct view *view);
/* Opens a file of /dev/pts; opening ptmx makes a new pair. A descriptor owned by the caller, or -errno. */
int terminals_open_dev_pts_file(const struct place *place, int flags);
/* True for /dev/pts itself. */
static inline bool terminals_place_is_dev_pts(const struct place *place)
{
	return place->virt_len == place->mount->virt_len && !(place->mount->flags & MOUNT_OF_SINGLE_FILE);
}
/*
 * True for the slave of a pseudoterminal pair of the host that the run has not made. writes: true for every other
 * number, too, whether or not the host has such a slave.
 */
bool terminals_place_is_foreign_slave(const struct place *place, bool writes);
/* True when /dev/pts has an entry of this name. terminals_visit_entries calls `visit` for all entries. */
bool terminals_dev_pts_has_name(const struct view *view,
			  const char *name);
void terminals_visit_entries(const struct view *view, void (*visit)(void *ctx, const char *name, mode_t type),
			     void *ctx);

/* ---- procfs.c ---- */

enum proc_kind {
	PROC_ABSENT, /* not on the allowlist, or not of a process of the run */
	PROC_FILE,   /* the content is the kernel's or a generated one */
	PROC_DIR,
	PROC_MAGIC_LINK, /* cwd, exe, root, fd/N: a link to an object */
};
/* Returns the kind of a canonical path below /proc ("self" is resolved). task may be NULL. */
enum proc_kind proc_classify_path(const struct view *view, const struct task *task, const char *below_proc);
/* Returns the path below /proc of a place in /proc; "" for /proc itself. */
static inline const char *view_get_path_below_proc(const struct place *place)
{
	return place->virt_len > place->mount->virt_len ? place->virt + place->mount->virt_len + 1 : "";
}

/* Returns what follows PID/ or PID/task/TID/ in a path below /proc; NULL: it begins with neither. */
const char *proc_get_path_below_pid(const char *below_proc);
/* True for a path below /proc that belongs to no process. */
bool proc_path_is_of_no_process(const char *below_proc);
/* True for a directory of files that belong to no process. */
bool proc_path_is_directory(const char *below_proc);
/* True when the file of a process may be opened for writing: its comm. */
bool proc_file_is_writable(const char *below_proc);
/* Calls `visit` for the entries of /proc (below_proc "") or of a directory below it that belong to no process. */
void proc_visit_machine_entries(const char *below_proc, void (*visit)(void *ctx, const char *name, mode_t type),
				void *ctx);
/* Calls `visit` for the links in /proc that lead to a file or directory of the calling process. */
void proc_visit_machine_links(void (*visit)(void *ctx, const char *name, mode_t type), void *ctx);
/* True for the directory "net" of a process or thread, such as "123/net". */
bool proc_path_is_net(const char *below_proc);
/* Calls `visit` for the entries of the directory "net" of a process or thread. */
void proc_visit_net_entries(void (*visit)(void *ctx, const char *name, mode_t type), void *ctx);

#endif
