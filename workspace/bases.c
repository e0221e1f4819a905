#include "workspace/bases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"
#include "base/times.h"
#include "syscalls/account/workspace/bases.h"
#include "view/copy/attributes.h"
#include "workspace/records.h"

#define BASES_DIR_NAME "base" /* directory of the layer that gets the bases of conflicts */

struct workspace_base {
	struct base_record record;
	const char *path, *content; /* in workspace_bases.text, without NUL */
	struct base_attributes attributes;
	size_t number;              /* in the file */
	bool is_of_copy;            /* the inode number tells of which file it is */
};

/* ---- reading the records ---- */

/* Parses the record at `at`, and moves it behind that. False: it is the end, or a record that was not completed. */
static bool bases_parse(const struct workspace_bases *bases, size_t *at, struct workspace_base *ret_base)
{
	struct base_record *record = &ret_base->record;

	if (bases->len - *at < sizeof(*record))
		return false;
	memcpy(record, bases->text + *at, sizeof(*record));
	*at += sizeof(*record);
	if (bases->len - *at < (size_t)record->path_len + record->attributes_len + record->content_len ||
	    (record->attributes_len != 0 && record->attributes_len != sizeof(ret_base->attributes)))
		return false;
	ret_base->path = bases->text + *at;
	memcpy(&ret_base->attributes, ret_base->path + record->path_len, record->attributes_len);
	ret_base->content = ret_base->path + record->path_len + record->attributes_len;
	*at += (size_t)record->path_len + record->attributes_len + record->content_len;
	return true;
}

static int bases_compare_keys(const struct workspace_base *a, const struct workspace_base *b)
{
	const size_t shorter = a->record.path_len < b->record.path_len ? a->record.path_len : b->record.path_len;
	int r;

	if (a->is_of_copy)
		return (a->record.inode > b->record.inode) - (a->record.inode < b->record.inode);
	r = memcmp(a->path, b->path, shorter);
	return r ? r : (a->record.path_len > b->record.path_len) - (a->record.path_len < b->record.path_len);
}

/* Sorts by key, and those of one key by their number. */
static int bases_compare(const void *left, const void *right)
{
	const struct workspace_base *a = left, *b = right;
	const int r = bases_compare_keys(a, b);

	return r ? r : (a->number > b->number) - (a->number < b->number);
}

static int bases_parse_all(struct workspace_bases *bases, bool is_of_copy)
{
	struct workspace_base base = {.is_of_copy = is_of_copy};
	size_t at = 0;

	for (; bases_parse(bases, &at, &base); base.number++) {
		if (!array_reserve(&bases->item, bases->count, &bases->room))
			return -ENOMEM;
		bases->item[bases->count++] = base;
	}
	if (bases->count > 0)
		qsort(bases->item, bases->count, sizeof(*bases->item), bases_compare);
	return 0;
}

int workspace_bases_load(const struct workspace_layer *layer, struct workspace_bases *bases)
{
	_cleanup_close_ int fd = openat2_retry(layer->dir_fd, BASES_NAME, O_RDONLY | O_NOFOLLOW | O_NOATIME, 0, 0);
	struct stat st;
	int r = workspace_first_dirs_load(layer, &bases->first_dirs);

	if (r < 0)
		return r;
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	bases->were_kept = true;
	bases->is_incomplete = st.st_mode & S_ISVTX;
	if (st.st_size == 0)
		return 0;
	bases->text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bases->text == MAP_FAILED) {
		bases->text = NULL;
		return -errno;
	}
	bases->len = (size_t)st.st_size;
	return bases_parse_all(bases, layer->records != NULL);
}

void workspace_bases_release(struct workspace_bases *bases)
{
	if (bases->text)
		(void)munmap(bases->text, bases->len);
	free(bases->item);
	workspace_first_dirs_release(&bases->first_dirs);
}

int workspace_bases_visit(const struct workspace_bases *bases,
			  int (*visit)(void *ctx, uint64_t inode, const char *path, size_t len), void *ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < bases->count; i++)
		r = visit(ctx, bases->item[i].record.inode, bases->item[i].path, bases->item[i].record.path_len);
	return r;
}

/* ---- one base ---- */

static int bases_compare_with_key(const void *key, const void *base)
{
	return bases_compare_keys(key, base);
}

/* The first base of a path. NULL: there is none. */
static const struct workspace_base *bases_find_record(const struct workspace_bases *bases,
						      const struct workspace_layer *layer, const char *path)
{
	const struct workspace_record *record = layer->records ? workspace_records_find(layer->records, path) : NULL;
	struct workspace_base key = {.path = path, .is_of_copy = layer->records != NULL};
	const struct workspace_base *base;

	if ((layer->records && !record) || bases->count == 0)
		return NULL;
	key.record.path_len = (uint32_t)strlen(path);
	key.record.inode = record ? record->kept.inode : 0;
	base = bsearch(&key, bases->item, bases->count, sizeof(*bases->item), bases_compare_with_key);
	while (base && base > bases->item && bases_compare_keys(base - 1, base) == 0)
		base--;
	return base;
}

bool workspace_bases_has(const struct workspace_bases *bases, const struct workspace_layer *layer, const char *path)
{
	return bases_find_record(bases, layer, path) != NULL;
}

/* Makes a directory if it is missing, and opens it. A descriptor or -errno. */
static int bases_open_dir(int dir_fd, const char *name)
{
	return mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST ? -errno : io_open_dir(dir_fd, name);
}

/* Writes a base to a file, as an earlier apply has perhaps done. 0 or -errno. */
static int bases_write(int dir_fd, const char *name, const struct workspace_base *base)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == (off_t)base->record.content_len)
		return 0;
	(void)unlinkat(dir_fd, name, 0); /* of an apply that was killed */
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : io_write_all(fd, base->content, base->record.content_len);
}

/* Gives a base its file, in a directory of its own, so that it has its name. 0 or -errno. */
static int bases_make_file(const struct workspace_base *base, const struct workspace_layer *layer, const char *path,
			   char ret_path[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_close_ int all = bases_open_dir(layer->dir_fd, BASES_DIR_NAME), dir = -1;
	char number[24];

	if (base->record.kind == BASE_CLONE)
		return snprintf(ret_path, PATH_MAX, "%.*s", (int)base->record.content_len, base->content) < PATH_MAX
			       ? 0
			       : -ENAMETOOLONG;
	(void)snprintf(number, sizeof(number), "%zu", base->number);
	(void)snprintf(ret_path, PATH_MAX, BASES_DIR_NAME "/%s/%.*s", number, NAME_MAX, name);
	dir = all < 0 ? all : bases_open_dir(all, number);
	return dir < 0 ? dir : bases_write(dir, name, base);
}

/* Why there is no record. */
static const char *bases_explain_absence(const struct workspace_bases *bases, const struct workspace_change *change)
{
	if (change->base.exists && S_ISDIR(change->base.mode))
		return "it is a directory";
	if (bases->is_incomplete)
		return "no room was left for a record of it";
	return bases->were_kept ? "there was nothing when the program first changed it" : "none was kept";
}

bool workspace_bases_find(const struct workspace_bases *bases, const struct workspace_layer *layer,
			  const struct workspace_change *change, char ret_text[PATH_MAX])
{
	const struct workspace_base *base = bases_find_record(bases, layer, change->path);
	int r;

	if (!base)
		(void)snprintf(ret_text, PATH_MAX, "%s", bases_explain_absence(bases, change));
	if (base && base->record.kind == BASE_NONE)
		(void)snprintf(ret_text, PATH_MAX, "%.*s", (int)base->record.content_len, base->content);
	if (base && base->record.kind == BASE_LINK)
		(void)snprintf(ret_text, PATH_MAX, "it was no regular file");
	if (!base || base->record.kind == BASE_NONE || base->record.kind == BASE_LINK)
		return false;
	r = bases_make_file(base, layer, change->path, ret_text);
	if (r < 0)
		(void)snprintf(ret_text, PATH_MAX, "it cannot be written: %s", strerror(-r));
	return r == 0;
}

/* ---- the fingerprint ---- */

/*
 * Whether a base is what the directory had when the run began. Something outside may have changed the file before the
 * program did: the program need not have seen that. Of a copy, the base is what was copied.
 */
static bool bases_is_of_begin(const struct workspace_base *base, const struct workspace_layer *layer)
{
	const struct timespec ctime = {base->attributes.ctime_s, base->attributes.ctime_ns};

	return base->record.attributes_len > 0 && (layer->records || !workspace_time_is_since_mount(layer, &ctime));
}

/* Whether an entry has the attributes that it had, and was not changed since the change was found. */
static bool bases_has_attributes(const struct workspace_base *base, const struct workspace_change *change, int path_fd)
{
	const struct base_attributes *kept = &base->attributes;
	const struct timespec mtime = {kept->mtime_s, kept->mtime_ns};
	struct stat st;

	return fstat(path_fd, &st) == 0 && times_compare(&st.st_ctim, &change->base.ctime) == 0 &&
	       times_compare(&st.st_mtim, &mtime) == 0 && (uint64_t)st.st_size == kept->size &&
	       st.st_mode == kept->mode && st.st_uid == kept->uid && st.st_gid == kept->gid;
}

/* Whether an open file has the content that is in the record. */
static bool bases_has_content(const struct workspace_base *base, int fd)
{
	char buffer[16384];
	size_t at = 0;

	while (at < base->record.content_len) {
		const size_t left = base->record.content_len - at;
		const ssize_t got = pread(fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer), (off_t)at);

		if (got <= 0 || memcmp(buffer, base->content + at, (size_t)got) != 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

/* Whether an open file has the content of a clone. */
static bool bases_has_content_of_clone(const struct workspace_base *base, const struct workspace_layer *layer, int fd)
{
	_cleanup_close_ int clone = -1;
	char name[NAME_MAX + 1];

	if ((size_t)snprintf(name, sizeof(name), "%.*s", (int)base->record.content_len, base->content) >= sizeof(name))
		return false;
	clone = openat2_retry(layer->dir_fd, name, O_RDONLY | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);
	return clone >= 0 && content_is_equal(clone, fd, base->attributes.size) == 1;
}

/* Whether a link, open with O_PATH, has the target that is in the record. */
static bool bases_has_target(const struct workspace_base *base, int path_fd)
{
	char target[PATH_MAX];
	const ssize_t len = readlinkat(path_fd, "", target, sizeof(target));

	return len >= 0 && (size_t)len == base->record.content_len && memcmp(target, base->content, (size_t)len) == 0;
}

bool workspace_bases_has_fingerprint(const struct workspace_bases *bases, const struct workspace_layer *layer,
				     const struct workspace_change *change)
{
	const struct workspace_base *base = bases_find_record(bases, layer, change->path);
	_cleanup_close_ int path_fd = base ? workspace_open_entry(layer->base_fd, change->path) : -1, fd = -1;
	char xattrs[SHA256_HEX_SIZE];

	if (path_fd < 0 || !bases_is_of_begin(base, layer) || !bases_has_attributes(base, change, path_fd))
		return false;
	if (base->record.kind == BASE_LINK)
		return bases_has_target(base, path_fd);
	fd = workspace_open_content(path_fd);
	if (fd < 0 || copy_hash_attributes(fd, xattrs) < 0 || strcmp(xattrs, base->attributes.xattrs) != 0)
		return false;
	return base->record.kind == BASE_CONTENT ? bases_has_content(base, fd)
						 : bases_has_content_of_clone(base, layer, fd);
}
