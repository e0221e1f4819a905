#include "tests/unit/view/fill-rig.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

static char top[64];
static int top_fd;
char content[CONTENT_BYTES], got[2 * CONTENT_BYTES];
int base_fd, layer_fd, copy_fd;
struct fills *fills;

void write_base(const char *name, const char *text, size_t len, mode_t mode)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC, 2}};
	int fd;

	/* Only root writes to what is read-only. */
	ck_assert(fchmodat(base_fd, name, 0600, 0) == 0 || errno == ENOENT);
	fd = openat(base_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_eq(io_write_all(fd, text, len), 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	ck_assert_int_eq(futimens(fd, times), 0);
	(void)close(fd);
}

void reopen(void)
{
	fills_free(fills);
	fills = NULL;
	ck_assert_int_eq(fills_open(layer_fd, base_fd, false, &fills), 0);
}

void setup(void)
{
	struct copy_size size = {0};
	struct copy_failure failure = {.path = ""};
	const struct copy_options options = {.makes_placeholders = true, .acls_fd = -1};

	(void)snprintf(top, sizeof(top), "/var/tmp/test_fill.XXXXXX");
	memset(content, 'x', sizeof(content));
	top_fd = open(mkdtemp(top), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(mkdirat(top_fd, "base", 0700), 0);
	ck_assert_int_eq(mkdirat(top_fd, "layer", 0700), 0);
	base_fd = io_open_dir(top_fd, "base");
	layer_fd = io_open_dir(top_fd, "layer");
	write_base("f", content, sizeof(content), 0444);
	write_base("small", "small", 5, 0644);
	ck_assert_int_eq(copy_tree(base_fd, layer_fd, &options, &size, &failure), 0);
	copy_fd = io_open_dir(layer_fd, COPY_DIR_NAME);
	if (faccessat(layer_fd, COPY_PLACEHOLDERS_NAME, F_OK, 0) < 0)
		exit(0); /* the file system does not tell when a file was made */
	reopen();
}

void teardown(void)
{
	fills_free(fills);
	fills = NULL;
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, top), 0);
}

struct stat status(const char *name)
{
	struct stat st;

	ck_assert_int_eq(fstatat(copy_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

struct fill_file *find(const char *name)
{
	const struct stat st = status(name);

	return fills_find(fills, copy_fd, name, &st);
}

int fill(const char *name, unsigned flags)
{
	int fd = openat(copy_fd, name, O_PATH | O_CLOEXEC), r;

	ck_assert_ptr_nonnull(find(name));
	r = fills_fill(fills, find(name), fd, flags);
	(void)close(fd);
	return r;
}

void check_has(const char *name, const char *text, size_t len, mode_t mode)
{
	const struct stat st = status(name);
	int fd = openat(copy_fd, name, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(read(fd, got, sizeof(got)), (ssize_t)len);
	ck_assert_int_eq(memcmp(got, text, len), 0);
	(void)close(fd);
	ck_assert_uint_eq(st.st_mode & 07777, mode);
	ck_assert_int_eq(st.st_mtim.tv_sec, OLD_SEC);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 2);
}

struct fill_record read_record(const char *name)
{
	const struct stat st = status(name);
	struct fill_record *record = NULL, found = {0};
	size_t count = 0;

	ck_assert_int_eq(fills_read_records(layer_fd, &record, &count), 0);
	for (size_t i = 0; i < count; i++)
		if (record[i].inode == st.st_ino)
			found = record[i];
	free(record);
	ck_assert_uint_eq(found.inode, st.st_ino);
	return found;
}

void rewrite(const char *name, size_t at, const void *bytes, size_t count)
{
	char *text = NULL;
	size_t len = 0;
	int fd;

	ck_assert_int_eq(io_read_file(layer_fd, name, 1 << 20, &text, &len), 0);
	ck_assert_uint_le(at + count, len);
	memcpy(text + at, bytes, count);
	fd = openat(layer_fd, "new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_eq(io_write_all(fd, text, len), 0);
	(void)close(fd);
	free(text);
	ck_assert_int_eq(renameat(layer_fd, "new", layer_fd, name), 0);
}
