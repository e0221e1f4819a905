/*
 * The skeleton: real directories for the ancestors of mounts, and entries that give listings their names. It is made
 * with the view; later only stand-in directories are added. Its names are kept in memory, so that any other name is
 * ENOENT without a system call. Whether the host has such a name only changes a word of the record; the answers of the
 * host are kept for 10 ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "view/private.h"

#define SKELETON_HASH_BUCKETS 256u
#define HOST_LOOKUPS_CACHED 64u         /* answers kept to: does the host have this path? */
#define HOST_LOOKUP_PATH_BYTES_MAX 232u /* longer names are not kept */
#define HOST_LOOKUP_VALID_NS 10000000u  /* how long a cached answer is used */

/* A path that the skeleton shows. */
struct skeleton_name {
	struct skeleton_name *next;
	bool is_directory; /* false: a link or a file */
	size_t len;
	char virt[];
};

/* A cached answer: does the host have this name? */
struct host_lookup_result {
	uint64_t valid_until_ns; /* then the host is asked again */
	bool is_absent; /* the host has no such path */
	size_t len;
	char virt[HOST_LOOKUP_PATH_BYTES_MAX]; /* the path that was looked up */
};

/* All paths of the skeleton, as a hash table, and what was lately looked up on the host. */
struct skeleton_names {
	struct skeleton_name *bucket[SKELETON_HASH_BUCKETS];
	struct host_lookup_result cached_lookup[HOST_LOOKUPS_CACHED];
	bool is_incomplete; /* memory ran out, so some names are missing */
};

static struct skeleton_name *skeleton_find_name(const struct skeleton_names *shown, const char *virt, size_t len,
						uint32_t hash)
{
	for (struct skeleton_name *name = shown->bucket[hash % SKELETON_HASH_BUCKETS]; name; name = name->next)
		if (name->len == len && memcmp(name->virt, virt, len) == 0)
			return name;
	return NULL;
}

static void skeleton_add_name(struct skeleton_names *shown, const char *virt, size_t len, uint32_t hash, bool directory)
{
	struct skeleton_name *name = skeleton_find_name(shown, virt, len, hash);

	if (!name) {
		name = calloc(1, sizeof(*name) + len + 1);
		if (!name) {
			shown->is_incomplete = true;
			return;
		}
		name->len = len;
		memcpy(name->virt, virt, len);
		name->next = shown->bucket[hash % SKELETON_HASH_BUCKETS];
		shown->bucket[hash % SKELETON_HASH_BUCKETS] = name;
	}
	name->is_directory |= directory;
}

struct skeleton_names *view_skeleton_names_create(void)
{
	return calloc(1, sizeof(struct skeleton_names));
}

void view_skeleton_names_free(struct skeleton_names *shown)
{
	for (unsigned i = 0; shown && i < SKELETON_HASH_BUCKETS; i++) {
		while (shown->bucket[i]) {
			struct skeleton_name *name = shown->bucket[i];

			shown->bucket[i] = name->next;
			free(name);
		}
	}
	free(shown);
}

/* Remembers a name of the skeleton, and its ancestors. */
static void skeleton_note_name(const struct view *view, const char *virt, bool directory)
{
	size_t len = strlen(virt);
	struct view_prefix prefix = view_begin_prefixes(virt, len);

	/* While the program runs, only stand-in directories are added: their names do not count. */
	if (view->run_root)
		return;
	while (view_extend_prefix(&prefix))
		skeleton_add_name(view->skeleton_names, virt, prefix.len, view_get_prefix_hash(&prefix),
			       prefix.len < len || directory);
}

bool view_skeleton_has_dir(const struct view *view, const char *virt, size_t len)
{
	const struct skeleton_name *name =
		skeleton_find_name(view->skeleton_names, virt, len, view_hash_path(virt, len));

	return name && name->is_directory;
}

/* ---- making directories and entries ---- */

/*
 * Opens the directory `name` of dirfd, or makes it. A listing may have left a link of the host here; following it would
 * make directories elsewhere. An O_PATH descriptor owned by the caller, or -errno.
 */
static int skeleton_open_or_make_dir(int dirfd, const char *name)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dirfd, name, flags);

	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR || errno == ELOOP)
		(void)io_remove_tree(dirfd, name); /* if this fails, mkdirat(2) fails as well */
	if (mkdirat(dirfd, name, 0755) < 0)
		return -errno;
	fd = openat(dirfd, name, flags);
	return fd < 0 ? -errno : fd;
}

/* Makes a directory and its missing ancestors. Modifies path. */
static int skeleton_make_dirs(const struct view *view, char *path)
{
	_cleanup_close_ int dir = fcntl(view->standin_fd, F_DUPFD_CLOEXEC, 3);
	char *rest = NULL;

	if (dir < 0)
		return -errno;
	for (char *name = strtok_r(path, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		int next = skeleton_open_or_make_dir(dir, name);

		if (next < 0)
			return next;
		(void)close(dir);
		dir = next;
	}
	return 0;
}

/* Makes directories while the view is built, when none can be a link. On failure use skeleton_make_dirs(). */
static int skeleton_make_dirs_without_links(const struct view *view, char *path)
{
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (!view_skeleton_has_dir(view, path, strlen(path)) && mkdirat(view->standin_fd, path + 1, 0755) < 0)
			return -errno;
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/* Makes a directory of the skeleton, unless it exists. virt is not "/". */
static int skeleton_make_missing_dirs(const struct view *view, const char *virt, char path[PATH_MAX])
{
	_cleanup_close_ int fd = -1;

	memcpy(path, virt, strlen(virt) + 1);
	if (!view->run_root && skeleton_make_dirs_without_links(view, path) == 0)
		return 0;
	fd = openat2_retry(view->standin_fd, virt + 1, O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	if (fd >= 0)
		return 0;
	memcpy(path, virt, strlen(virt) + 1);
	return skeleton_make_dirs(view, path);
}

int view_skeleton_mkdir(const struct view *view, const char *virt)
{
	char path[PATH_MAX];
	size_t len = strlen(virt);
	mode_t old;
	int r;

	if (len >= sizeof(path))
		return -ENAMETOOLONG;
	if (len <= 1 || (!view->run_root && view_skeleton_has_dir(view, virt, len)))
		return 0;
	old = umask(022); /* the umask may be that of a task */
	r = skeleton_make_missing_dirs(view, virt, path);
	(void)umask(old);
	skeleton_note_name(view, virt, true);
	return r;
}

static int skeleton_make_parents(const struct view *view, const char *virt)
{
	char path[PATH_MAX];
	char *slash;

	if ((size_t)snprintf(path, sizeof(path), "%s", virt) >= sizeof(path))
		return -ENAMETOOLONG;
	slash = strrchr(path, '/');
	*slash = '\0';
	return slash > path ? view_skeleton_mkdir(view, path) : 0;
}

int view_make_entry(int dirfd, const char *name, mode_t type, const char *target)
{
	int r;

	if (type == S_IFDIR)
		r = mkdirat(dirfd, name, 0755);
	else if (type == S_IFLNK)
		r = symlinkat(target, dirfd, name);
	else
		r = mknodat(dirfd, name, S_IFREG | 0444, 0);
	return r < 0 ? -errno : 0;
}

int view_skeleton_add_entry(const struct view *view, const char *virt, mode_t type, const char *target)
{
	int r;

	if (type == S_IFDIR)
		return view_skeleton_mkdir(view, virt);
	r = skeleton_make_parents(view, virt);
	if (r < 0)
		return r;
	skeleton_note_name(view, virt, false);
	r = view_make_entry(view->skeleton_mount->fd, virt + 1, type, target);
	return r == -EEXIST ? 0 : r;
}

int view_skeleton_add_file(const struct view *view, const char *virt, const void *text, size_t len)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	_cleanup_close_ int fd = -1;
	int r = skeleton_make_parents(view, virt);

	if (r < 0)
		return r;
	fd = openat(view->skeleton_mount->fd, virt + 1, flags, 0444);
	if (fd < 0 && errno == EEXIST &&
	    unlinkat(view->skeleton_mount->fd, virt + 1, 0) == 0) /* an earlier attempt left it */
		fd = openat(view->skeleton_mount->fd, virt + 1, flags, 0444);
	if (fd < 0)
		return -errno;
	skeleton_note_name(view, virt, false);
	return io_write_all(fd, text, len);
}

/* Makes an entry and its ancestors in a private mount, such as a redirected /tmp: walks and listings find it. */
static int skeleton_make_private_mount_entry(const struct place *place, mode_t type, const char *target)
{
	char host[PATH_MAX];
	struct stat there;
	int r = view_get_supervisor_path(place, host, sizeof(host));

	if (r < 0)
		return r;
	for (char *slash = strchr(host + place->mount->host_path_len + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(host, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return lstat(host, &there) == 0 ? 0 : view_make_entry(AT_FDCWD, host, type, target);
}

int view_add_listing_entry(const struct view *view, const char *virt, mode_t type, const char *target)
{
	struct place place;

	if (!view_is_in_host_tree(view, virt))
		return view_skeleton_add_entry(view, virt, type, target);
	if (view_locate_path(view, NULL, "/", virt, 0, &place) < 0 || !(place.mount->flags & MOUNT_PRIVATE) ||
	    place.mount->flags & MOUNT_OF_SINGLE_FILE || place.virt_len == place.mount->virt_len)
		return 0;
	return skeleton_make_private_mount_entry(&place, type, target);
}

/* ---- names that do not exist ---- */

/* Returns the offset of the first component that the skeleton lacks. 0: it lacks none, or one is no directory. */
static size_t skeleton_find_missing_component(const struct skeleton_names *shown, const char *virt, size_t len)
{
	struct view_prefix prefix = view_begin_prefixes(virt, len);

	while (view_extend_prefix(&prefix)) {
		const struct skeleton_name *name = skeleton_find_name(shown, virt, prefix.len,
								      view_get_prefix_hash(&prefix));

		if (!name)
			return prefix.last_component_start;
		if (!name->is_directory)
			return 0;
	}
	return 0;
}

bool view_skeleton_place_is_absent(const struct place *place)
{
	const struct skeleton_names *shown = place->mount->view->skeleton_names;
	size_t lacking;

	if (!(place->mount->flags & MOUNT_SKELETON) || shown->is_incomplete)
		return false;
	lacking = skeleton_find_missing_component(shown, place->virt, place->virt_len);
	/* With a longer component the kernel returns ENAMETOOLONG. */
	return lacking && strcspn(place->virt + lacking, "/") <= NAME_MAX;
}

int view_stat_host_path(const struct view *view, const char *path, int flags, struct stat *ret_stat)
{
	_cleanup_close_ int fd = -1;

	if (view->host_root_fd < 0)
		return fstatat(AT_FDCWD, path, ret_stat, flags) < 0 ? -errno : 0;
	fd = openat2_retry(view->host_root_fd, path, O_PATH | (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0), 0,
			  RESOLVE_IN_ROOT);
	if (fd < 0)
		return fd;
	return fstat(fd, ret_stat) < 0 ? -errno : 0;
}

/* Whether the host has no such path. */
static bool host_lacks_path(const struct view *view, const char *virt)
{
	struct stat there;
	int r = view_stat_host_path(view, virt, AT_SYMLINK_NOFOLLOW, &there);

	return r == -ENOENT || r == -ENOTDIR;
}

/* The answer is cached: every process asks for the same absent names, as the loader does for its preload list. */
bool view_is_absent_on_host(const struct view *view, const char *virt, size_t len)
{
	struct host_lookup_result *answer =
		&view->skeleton_names->cached_lookup[view_hash_path(virt, len) % HOST_LOOKUPS_CACHED];
	uint64_t now;

	if (len >= HOST_LOOKUP_PATH_BYTES_MAX)
		return host_lacks_path(view, virt);
	now = io_read_clock_ns();
	if (now >= answer->valid_until_ns || answer->len != len || memcmp(answer->virt, virt, len) != 0) {
		answer->is_absent = host_lacks_path(view, virt);
		answer->valid_until_ns = now + HOST_LOOKUP_VALID_NS;
		answer->len = len;
		memcpy(answer->virt, virt, len);
	}
	return answer->is_absent;
}
