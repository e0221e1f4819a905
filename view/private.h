/* Shared by the view's own files only. */
#ifndef CALLGATE_VIEW_PRIVATE_H
#define CALLGATE_VIEW_PRIVATE_H

#include <string.h>

#include "view/view.h"

#define VIEW_BUCKETS 512u
#define VIEW_NUMBERS_MAX 64u
#define VIEW_LINKS_MAX 40 /* as MAXSYMLINKS: path_resolution(7) */

/* In the tmpfs of view_attach. The first becomes the program's root; of the others nothing is below that. */
#define VIEW_ROOT_NAME ".callgate-root"
#define VIEW_STANDIN_NAME ".callgate-listings"
#define VIEW_STILL_NAME ".callgate-still"
#define VIEW_EMPTY_NAME ".callgate-empty"
#define VIEW_MORE_NAME ".callgate-more"
#define VIEW_PROC_NAME ".callgate-proc" /* nobody may enter it */
#define VIEW_MORE_PATH "/dev/.callgate" /* in the program's root, better than that */

/* A name of the view that is not simply what lies below a mount: a mount's root, a link, or a hole. */
struct node {
	struct node *next; /* in its bucket */
	uint32_t hash;
	uint32_t virt_len;
	struct mount *mount; /* NULL: a link or a hole */
	char *link;          /* target text; NULL and no mount: a hole, nothing is there */
	char virt[];
};

struct shown; /* view-shown.c */
struct base_names; /* view-base.c */

struct view {
	const struct policy *policy;
	struct tree *tree;
	struct shown *shown; /* the names of the skeleton */
	struct base_names *bases; /* NULL: names of directories are not kept */
	struct mount **mount; /* all of them, for host names */
	size_t mounts;
	struct held **held;   /* directories of single files */
	size_t helds;
	void *plain;          /* while it is built: names of the host that are no links; set of tsearch(3) */
	struct mount *root;   /* the skeleton itself */
	struct mount *top;    /* what "/" is: the skeleton, or the host's when the policy grants "/" */
	char *skeleton_host;
	int standin_fd;       /* where stand-ins are made: a descriptor of the skeleton, until mounts cover that */
	char *standin_host;
	int host_root_fd;     /* O_PATH; -1: our own root is the host's */
	bool building;        /* under an umask that suits directories */
	bool attached;        /* the kernel's names are the view's: see view_attach */
	int still_fd;         /* then, a copy of the program's root in which no link is followed; -1: it could not be had */
	bool veiled;          /* of something that is shown the kernel shows the program less, or something else */
	int proc_fd;          /* the host's /proc, O_PATH */
	struct mount *machine; /* /proc without its processes; NULL: the program's /proc is the supervisor's */
	int terminal_fd;      /* borrowed; -1: the run has no terminal */
	struct mount_number {
		uint64_t still, number;
	} number[VIEW_NUMBERS_MAX]; /* of the mounts in there, as far as noted; any further one is asked for each time */
	size_t numbers;
	struct node *bucket[VIEW_BUCKETS]; /* the large ones last: what each call looks at lies together */
};

/* A prefix of a canonical path, whole components: the hash of one is a step on the way to the hash of the next. */
struct view_prefix {
	const char *virt;
	size_t virt_len; /* of the whole path */
	size_t start;    /* of the last component */
	size_t len;      /* of the prefix */
	uint64_t hash;
};

static inline struct view_prefix view_prefixes(const char *virt, size_t virt_len)
{
	return (struct view_prefix){.virt = virt, .virt_len = virt_len};
}

/* The prefix that is one component longer, beginning with "/first". False at the end; "/" alone has none. */
static inline bool view_longer(struct view_prefix *prefix)
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
	/* Weak but quick: names are compared whole after it. */
	prefix->hash = (prefix->hash ^ head ^ len) * UINT64_C(0x9e3779b97f4a7c15);
	prefix->hash = (prefix->hash ^ prefix->hash >> 32 ^ tail) * UINT64_C(0xd6e8feb86659fd93);
	return true;
}

/* Of a whole virtual path. */
static inline uint32_t view_hash(const char *virt, size_t len)
{
	struct view_prefix prefix = view_prefixes(virt, len);

	while (view_longer(&prefix))
		;
	return (uint32_t)(prefix.hash >> 32);
}

static inline uint32_t view_prefix_hash(const struct view_prefix *prefix)
{
	return (uint32_t)(prefix->hash >> 32);
}

struct node *view_node(const struct view *view, const char *virt, size_t len, uint32_t hash);
/* Adds a node; takes mount; copies the texts. -EEXIST is not an error for links: the first one stays. */
int view_add_node(struct view *view, const char *virt, struct mount *mount, const char *link);

/* The target of one of the view's own links (policy links, /proc/self, /proc/thread-self), or NULL. */
const char *view_link(const struct task *task, const struct node *node, const char *virt, char buffer[64]);

/* Places a canonical path: longest mount wins. Returns 0, -ENOTDIR below a single file. */
int view_place(const struct view *view, struct place *place);

/* True when the place is in a hole: nothing is there, whatever the policy grants. */
bool view_in_hole(const struct place *place);

struct base_names *view_bases_create(void); /* NULL: no memory */
void view_bases_free(struct base_names *bases);

/* Notes a name that the skeleton has from now on, and those above it. */
void view_note_shown(const struct view *view, const char *virt, bool directory);
/* True for a directory that was noted: it is there, and no link, until the program runs. */
bool view_shows(const struct view *view, const char *virt, size_t len);
struct shown *view_shown_create(void); /* NULL: no memory */
void view_shown_free(struct shown *shown);

/* Makes the stand-in of place in the skeleton (with its ancestors) and brings its entries up to date. 0 or -errno. */
int view_refresh(const struct place *place);

/* ---- building ---- */

/*
 * Takes fd, also on failure. The mount is the view's and stands at virt, unless something does already; "/" becomes the
 * top. 0 or -ENOMEM.
 */
int view_add_mount(struct view *view, const char *virt, const char *host, int fd, const char *base, unsigned flags,
		   const char *rule);
/*
 * A directory that several files are held by. `name` says which one it is, under whatever name the caller looks for it: the
 * host's path, or "@" and the virtual one once mounts are attached.
 */
struct held {
	char *name;
	int fd; /* O_PATH */
	unsigned users;
};
/* NULL: none of that name. */
struct held *view_held(const struct view *view, const char *name);
/* Takes fd, also on failure. NULL: no memory. Of use until its last mount lets go of it. */
struct held *view_hold(struct view *view, const char *name, int fd);
/* view_add_mount for a file in such a directory. */
int view_add_file(struct view *view, const char *virt, const char *host, struct held *held, unsigned flags, const char *rule);
/* The mount is held by this from now on: a descriptor of its own (taken), or one that is shared. */
void view_hold_by(struct mount *mount, int fd, struct held *held);

/* True when a host tree already shows at this virtual path, so that the skeleton has no say there. */
bool view_covered(const struct view *view, const char *virt);
/* What is shown of this host path at this name may not be used for: MOUNTS_*; flags are those of the mount. */
unsigned view_restrictions(const struct view *view, unsigned flags, const char *host, const char *virt);
/* Makes the directory in the skeleton, with its ancestors, through no link. 0 or -errno. */
int view_skeleton_mkdir(const struct view *view, const char *virt);
/*
 * The same wherever the path lies: in the skeleton, or in one of the run's own directories. A host tree is left
 * alone.
 */
int view_show_name(const struct view *view, const char *virt, mode_t type, const char *target);
/*
 * The parents of a virtual path in the skeleton, and an entry of that type (a link to target) for listings. 0 or
 * -errno.
 */
int view_skeleton_entry(const struct view *view, const char *virt, mode_t type, const char *target);
/* A file of the skeleton with its content, and its parents. 0 or -errno. */
int view_skeleton_file(const struct view *view, const char *virt, const void *text, size_t len);
/* Symbolic links on the way a rule was written: /lib for a grant of /usr/lib, /var/run for /run. 0 or -errno. */
int view_add_links(struct view *view, const char *written);
/* Hides the scratch space of all runs, and any procfs but /proc, below what is mounted by now. 0 or -errno. */
int view_add_holes(struct view *view, const char *scratch_base);
/* True for a descriptor within a procfs, which no grant may name; also when that cannot be found out. */
bool view_is_procfs(int fd);
/* Debian's merged /usr: the loader's path /lib64/… is compiled into every program. 0 or -errno. */
int view_add_merged_usr(struct view *view);

/*
 * Part of view_attach: a procfs of the supervisor's own, where the program's shows processes alone. An O_PATH descriptor of
 * it, owned by the caller, or -errno.
 */
int view_attach_proc(struct view *view, int tmpfs_fd, int own_proc_fd);

/* Part of view_attach: covers what is hidden inside of what root_fd shows. 0 or -errno. */
int view_cover(const struct view *view, int tmpfs_fd, int root_fd);

/* ---- /proc ---- */
enum proc_kind {
	PROC_ABSENT, /* not allowlisted, or not a pid of the run */
	PROC_FILE,
	PROC_DIR,
	PROC_MAGIC, /* cwd, exe, root, fd/N: a link into the view */
};
/* What "rest" (below /proc, canonical: no self) is to the run. */
enum proc_kind proc_classify(const struct view *view, const struct task *task, const char *rest);
/* Of a canonical "rest": neither /proc itself nor a process's. */
bool proc_is_machine(const char *rest);
/* Of such a one: a directory on the way to what may be seen. */
bool proc_is_directory(const char *rest);
/* True when the task may write it (its own comm). */
bool proc_writable(const struct task *task, const char *rest);
/* Calls each with the names that such a directory lists. */
void proc_each_below(const char *rest, void (*each)(void *ctx, const char *name, mode_t type), void *ctx);
/* Calls each with the names that /proc itself lists, when these are the processes of the run. */
void proc_each_name(const pid_t *pids, size_t count, void (*each)(void *ctx, const char *name, mode_t type), void *ctx);

int openat2_call(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve);

#endif
