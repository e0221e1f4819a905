/*
 * Walks the trees in which names could be hidden from the program: those that match a glob of a deny or private rule,
 * and, below a public rule, what not everybody may read. Only trees whose files users own are walked for globs that
 * match in every directory. The walk is bounded, because a run that judges everything is better than one that starts
 * late.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "policy/paths/glob.h"
#include "view/kernel-reads.h"

#define OVERFLOW_UID 65534u /* default of /proc/sys/kernel/overflowuid */
/*
 * An entry takes 0.5 us if only its name matters, and 1.5 us if its mode matters: WALK_ENTRIES_MAX entries take about
 * WALK_TIME_MAX_NS.
 */
#define WALK_ENTRIES_MAX 200000u
#define WALK_TIME_MAX_NS UINT64_C(200000000) /* CPU time for all walks; after it the kernel does not judge reads */
#define WALK_DIRECTORIES_PER_CLOCK_READ 64u /* directories from one look at the clock to the next */
#define WALK_DEPTH_MAX 200u         /* each level holds a descriptor */
#define WALK_GLOBS_MAX 256u         /* globs of denied paths that each name of the walk is compared with */
#define WALK_BUFFER_BYTES (64u << 10) /* of directory entries that getdents64(2) reads at once */

/* What getdents64(2) writes. */
struct walk_dirent64 {
	uint64_t ino;
	int64_t next_offset;   /* d_off */
	uint16_t record_bytes; /* d_reclen: distance to the next entry */
	uint8_t type;          /* DT_* */
	char name[];
};

/* A search of a mount for names that must be covered, because the kernel will judge reads. */
struct reads_walk {
	struct kernel_reads *reads;
	const struct mount *mount;
	/* for each glob that can match in this mount: the last part that is not "**" */
	const struct glob_part *glob_last_part[WALK_GLOBS_MAX];
	size_t glob_last_part_count; /* used entries of glob_last_part[] */
	bool checks_file_modes; /* something in the mount is granted by RULE_PUBLIC */
	bool has_glob_starting_with_path; /* a glob that begins with a path could match in the mount */
	size_t covers_by_name; /* covers of paths in rules, which were added before the walk */
	unsigned entries, directories, depth;
	uint64_t deadline_ns; /* CPU time at which the search is given up */
	size_t len;          /* length of path */
	char path[PATH_MAX]; /* the virtual path of the directory that is read, or of its entry */
	char buffer[WALK_BUFFER_BYTES] __attribute__((aligned(8)));
};

/* Names of subdirectories, which are walked after their parent directory has been read. */
struct walk_subdirs {
	char **name;
	size_t count, room;
};

static void walk_subdirs_release(struct walk_subdirs *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->name[i]);
	free(names->name);
}

/* ---- what the kernel would refuse by itself ---- */

/*
 * True when the kernel certainly refuses `bit` (S_IROTH or S_IXOTH, which the mode lacks) to the run's user. An access
 * control list is bounded by the group's bits of the mode.
 */
static bool walk_kernel_refuses(const struct kernel_reads *reads, const struct statx *st, unsigned bit)
{
	/* In a user namespace, files of users that it does not know look like this uid's: the group may count. */
	if (st->stx_uid == reads->uid && reads->uid == OVERFLOW_UID)
		return !(st->stx_mode & (bit << 6 | bit << 3));
	return !(st->stx_mode & (st->stx_uid == reads->uid ? bit << 6 : bit << 3));
}

/* ---- entries ---- */

/* Notes that the entry at walk->path is to be covered. */
static int walk_add_cover(const struct reads_walk *walk, enum cover cover)
{
	return covers_add(walk->reads, walk->path, cover);
}

/* Covers the entry at walk->path if the policy hides it. 1 in *ret_hidden: what is below need not be walked. */
static int walk_judge_name(const struct reads_walk *walk, bool *ret_hidden)
{
	const struct policy_decision decision =
		policy_decide_access(walk->reads->view->policy, walk->path, strlen(walk->path), POLICY_READ);

	*ret_hidden = decision.verdict == VERDICT_DENY;
	if (!*ret_hidden)
		return 0;
	return walk_add_cover(walk, decision.error == EACCES ? COVER_DENIED : COVER_ABSENT);
}

/* Whether a glob of a denied path ends with this name. */
static bool walk_name_may_be_hidden(const struct reads_walk *walk, const char *name, size_t len)
{
	for (size_t i = 0; i < walk->glob_last_part_count; i++)
		if (glob_part_matches(walk->glob_last_part[i], name, len))
			return true;
	return false;
}

/* Covers the entry at walk->path if not everybody may read it. A directory that is covered is not walked. */
static int walk_judge_mode(const struct reads_walk *walk, const struct statx *st, bool *ret_hidden)
{
	const bool directory = S_ISDIR(st->stx_mode);
	const unsigned lacks = (S_IROTH | (directory ? S_IXOTH : 0u)) & ~(unsigned)st->stx_mode;
	const struct policy *policy = walk->reads->view->policy;
	const size_t len = strlen(walk->path);
	unsigned rights;

	if (lacks == 0)
		return 0;
	rights = policy_get_rights(policy, walk->path, len);
	if (rights == 0)
		return walk_judge_name(walk, ret_hidden);
	if (!(rights & POLICY_PUBLIC))
		return 0;
	*ret_hidden = lacks & S_IXOTH && walk_kernel_refuses(walk->reads, st, S_IXOTH);
	if (*ret_hidden || (!(lacks & S_IXOTH) && walk_kernel_refuses(walk->reads, st, S_IROTH)))
		return 0;
	*ret_hidden = true;
	return walk_add_cover(walk, COVER_UNREADABLE);
}

static int walk_stat(int dirfd, const char *name, struct statx *ret_stat)
{
	const unsigned mask = STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID;
	const int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;

	if (statx(dirfd, name, flags, mask, ret_stat) < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	return 1;
}

/* True for a directory that is walked as a mount of its own. */
static bool walk_is_other_mount(const struct reads_walk *walk, size_t len)
{
	const struct view *view = walk->reads->view;
	const struct view_node *node = view_find_node(view, walk->path, len, view_hash_path(walk->path, len));

	return node && (node->mount || node_is_covered(node));
}

/*
 * True for a directory such as /var/lib/dpkg/info, which the package manager fills: it chooses the names, and all users
 * may read the files. False if other users may write to it, because they could make other files.
 */
static bool walk_dir_is_filled_by_package_manager(const char *path, const struct statx *st)
{
	static const char *const made[] = {"/var/lib/dpkg/info", "/var/lib/pacman/local", "/var/cache/man"};

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		if (strcmp(path, made[i]) == 0)
			return !(st->stx_mode & (S_IWGRP | S_IWOTH));
	return false;
}

/* Notes a directory that is to be searched later. */
static int walk_add_subdirectory(struct walk_subdirs *below, const char *name)
{
	if (!array_reserve(&below->name, below->count, &below->room))
		return -ENOMEM;
	below->name[below->count] = strdup(name);
	return below->name[below->count++] ? 0 : -ENOMEM;
}

/* Decides whether a name is to be covered, and whether what is below it must be searched. */
static int walk_judge_entry(struct reads_walk *walk, int dirfd, const struct walk_dirent64 *entry,
			      struct walk_subdirs *below)
{
	const size_t name_len = strlen(entry->name), base = walk->len > 1 ? walk->len : 0;
	bool directory = entry->type == DT_DIR, done = false; /* done: what is below need not be walked */
	bool other_mount, modes_matter;
	struct statx st;
	int r = 0;

	if (entry->name[0] == '.' && (name_len == 1 || (name_len == 2 && entry->name[1] == '.')))
		return 0;
	if (++walk->entries > WALK_ENTRIES_MAX)
		return reads_set_reason_to_judge_all(walk->reads,
						    "%s has too many entries to look for denied names (over %u)",
						    walk->mount->virt, WALK_ENTRIES_MAX);
	/* not skipped, because a program can reach the entry from a directory that it has opened */
	if (base + 1 + name_len >= sizeof(walk->path))
		return reads_set_reason_to_judge_all(walk->reads, "%s has too long paths to look for denied names",
						    walk->mount->virt);
	walk->path[base] = '/';
	memcpy(walk->path + base + 1, entry->name, name_len + 1);
	if (walk_name_may_be_hidden(walk, entry->name, name_len))
		r = walk_judge_name(walk, &done);
	other_mount = entry->type != DT_REG && entry->type != DT_LNK && walk_is_other_mount(walk, base + 1 + name_len);
	/* A directory's mode is looked at when the directory is opened. */
	modes_matter = walk->checks_file_modes && entry->type != DT_LNK && (entry->type != DT_DIR || other_mount);
	if (r == 0 && !done && (entry->type == DT_UNKNOWN || modes_matter)) {
		r = walk_stat(dirfd, entry->name, &st);
		directory = r > 0 && S_ISDIR(st.stx_mode);
		if (r > 0)
			r = walk->checks_file_modes && !S_ISLNK(st.stx_mode) ? walk_judge_mode(walk, &st, &done) : 0;
	}
	if (r == 0 && directory && !done && !other_mount &&
	    !covers_has_cover_at(walk->reads, walk->path, walk->covers_by_name))
		r = walk_add_subdirectory(below, entry->name);
	walk->path[walk->len] = '\0';
	return r;
}

/* ---- directories ---- */

/* The CPU time of this thread: how busy the machine is must not decide who judges. */
static uint64_t walk_read_cpu_time_ns(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Reads the entries of a directory. */
static int walk_read_directory(struct reads_walk *walk, int fd, struct walk_subdirs *below)
{
	long got;
	int r = 0;

	if (walk->directories++ % WALK_DIRECTORIES_PER_CLOCK_READ == 0 && walk_read_cpu_time_ns() > walk->deadline_ns)
		return reads_set_reason_to_judge_all(walk->reads, "looking for denied names took too long, at %s",
						    walk->path);
	while (r == 0 && (got = syscall(SYS_getdents64, fd, walk->buffer, sizeof(walk->buffer))) != 0) {
		if (got < 0)
			return errno == ENOENT ? 0 : -errno; /* ENOENT: removed meanwhile */
		for (long at = 0; r == 0 && at < got;) {
			const struct walk_dirent64 *entry = (const void *)(walk->buffer + at);

			at += entry->record_bytes;
			r = walk_judge_entry(walk, fd, entry, below);
		}
		/* No entry follows the last position. ext4 tells it already, and takes 2 us to return no entry. */
		if (lseek(fd, 0, SEEK_CUR) == INT64_MAX)
			break;
	}
	return r;
}

static int walk_directory(struct reads_walk *walk, int dirfd, const char *name);

/*
 * Covers a directory that may not be listed, unless it may not be entered either: no walk can find the hidden names in
 * it, but the program could guess them.
 */
static int walk_cover_unlisted(struct reads_walk *walk, int dirfd, const char *name)
{
	if (faccessat(dirfd, name, X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
		return reads_check_owner_of_unreadable_dir(walk->reads, walk->path);
	return walk_add_cover(walk, COVER_UNREADABLE);
}

/* Walks an opened directory, which it takes. walk->path is its path. NOLINTNEXTLINE(misc-no-recursion) */
static int walk_opened_directory(struct reads_walk *walk, int dir_fd)
{
	_cleanup_close_ int fd = dir_fd;
	struct walk_subdirs below = {.name = NULL};
	int r = walk_read_directory(walk, fd, &below);

	for (size_t i = 0; r == 0 && i < below.count; i++)
		r = walk_directory(walk, fd, below.name[i]);
	walk_subdirs_release(&below);
	return r;
}

/*
 * Judges the mode of the directory at walk->path, which is (dirfd, name), before it is read. fd: it was opened; below
 * 0: it may not be listed. *ret_done: it is not walked.
 */
static int walk_judge_directory(struct reads_walk *walk, int fd, int dirfd, const char *name, bool *ret_done)
{
	struct statx st;
	int r;

	*ret_done = false;
	if (!walk->checks_file_modes)
		return 0;
	r = fd >= 0 ? walk_stat(fd, "", &st) : walk_stat(dirfd, name, &st);
	*ret_done = r <= 0 ||
		    (!walk->has_glob_starting_with_path && walk_dir_is_filled_by_package_manager(walk->path, &st));
	return r <= 0 ? r : walk_judge_mode(walk, &st, ret_done);
}

/* Walks a directory below the one at walk->path. NOLINTNEXTLINE(misc-no-recursion): bounded by WALK_DEPTH_MAX */
static int walk_directory(struct reads_walk *walk, int dirfd, const char *name)
{
	const size_t len = walk->len, base = len > 1 ? len : 0;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;
	bool done;

	if (fd < 0 && errno != EACCES)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	if (walk->depth == WALK_DEPTH_MAX) {
		if (fd >= 0)
			(void)close(fd);
		return reads_set_reason_to_judge_all(walk->reads, "%s is too deep to look for denied names",
						     walk->path);
	}
	walk->path[base] = '/';
	memcpy(walk->path + base + 1, name, strlen(name) + 1);
	walk->len = base + 1 + strlen(name);
	walk->depth++;
	r = walk_judge_directory(walk, fd, dirfd, name, &done);
	if (r == 0 && !done)
		r = fd < 0 ? walk_cover_unlisted(walk, dirfd, name) : walk_opened_directory(walk, steal_fd(&fd));
	if (fd >= 0)
		(void)close(fd);
	walk->depth--;
	walk->len = len;
	walk->path[len] = '\0';
	return r;
}

/* ---- mounts ---- */

/*
 * True for a mount of installed programs (/usr, /opt …), in which globs that match in every directory are not looked
 * for, because such globs are meant for the files of users. False if the program may write in the mount.
 */
static bool walk_mount_is_installed(const struct policy *policy, const struct mount *mount)
{
	static const char *const system[] = {"/usr", "/opt", "/bin",  "/sbin", "/lib",  "/lib32", "/lib64",
					     "/sys", "/nix", "/gnu", "/snap", "/libx32"};

	if (policy_may_write(policy, mount->virt))
		return false;
	if (mount->flags & MOUNT_BY_INTERPRETER_ONLY)
		return true;
	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
		if (path_is_below(mount->recorded_host_path, system[i]))
			return true;
	return false;
}

/* Takes over a rule's glob if it can match names in the mount. */
static int walk_add_glob(void *ctx, const struct policy_hidden_path *hidden)
{
	struct reads_walk *walk = ctx;
	const struct mount *mount = walk->mount;
	const struct glob_part *last = NULL;
	/* Where a directory has another path in the view than on the host, the rules of either path apply. */
	const bool elsewhere = strcmp(mount->virt, mount->recorded_host_path) != 0;

	if (!hidden->glob || (hidden->is_private && !walk->checks_file_modes))
		return 0;
	if (hidden->path[1] == '\0' && !walk->checks_file_modes &&
	    walk_mount_is_installed(walk->reads->view->policy, mount)) {
		walk->reads->view->skips_walk_of_installed_files = true;
		return 0;
	}
	if (!elsewhere && !path_is_below(mount->virt, hidden->path) && !path_is_below(hidden->path, mount->virt))
		return 0;
	walk->has_glob_starting_with_path = walk->has_glob_starting_with_path || hidden->path[1] != '\0';
	for (size_t i = 0; i < hidden->glob->part_count; i++)
		if (hidden->glob->part[i].kind != GLOB_ANY_NAMES)
			last = &hidden->glob->part[i];
	for (size_t i = 0; last && i < walk->glob_last_part_count; i++)
		if (walk->glob_last_part[i]->len == last->len &&
		    memcmp(walk->glob_last_part[i]->text, last->text, last->len) == 0)
			return 0;
	if (!last || walk->glob_last_part_count == WALK_GLOBS_MAX)
		return reads_set_reason_to_judge_all(walk->reads, "%s cannot be looked for by its last name",
						    hidden->rule);
	walk->glob_last_part[walk->glob_last_part_count++] = last;
	return 0;
}

/* Searches a mount for names to cover, if a glob or file modes decide what is denied in it. */
static int walk_mount(struct reads_walk *walk)
{
	const struct mount *mount = walk->mount;
	int r, fd;

	if (mount->flags & (MOUNT_OF_SINGLE_FILE | MOUNT_PROC | MOUNT_DEVICE | MOUNT_SKELETON))
		return 0;
	walk->checks_file_modes = mount->flags & MOUNT_HAS_PUBLIC_GRANT;
	walk->glob_last_part_count = 0;
	walk->has_glob_starting_with_path = false;
	r = policy_visit_hidden_paths(walk->reads->view->policy, walk_add_glob, walk);
	if (r != 0 || (walk->glob_last_part_count == 0 && !walk->checks_file_modes))
		return r;
	fd = openat2_retry(walk->reads->root_fd, mount->virt + 1, O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	if (fd == -EACCES)
		return reads_check_owner_of_unreadable_dir(walk->reads, mount->virt);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	walk->len = mount->virt_len;
	memcpy(walk->path, mount->virt, mount->virt_len + 1);
	return walk_opened_directory(walk, fd);
}

int reads_walk_mounts(struct kernel_reads *reads)
{
	const struct view *view = reads->view;
	struct reads_walk *walk = malloc(sizeof(*walk));
	int r = 0;

	if (!walk)
		return -ENOMEM;
	walk->reads = reads;
	walk->covers_by_name = reads->points;
	walk->entries = walk->directories = walk->depth = 0;
	walk->deadline_ns = walk_read_cpu_time_ns() + WALK_TIME_MAX_NS;
	for (size_t i = 0; r == 0 && i < view->mount_count; i++) {
		walk->mount = view->mount[i];
		r = walk_mount(walk);
	}
	free(walk);
	return r;
}
