/* Files of a copy that get their content later: what is recorded of them, and what a process that was killed leaves. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/unit.h"
#include "view/copy/fill.h"
#include "view/copy/leftover.h"

#define CONTENT_BYTES 65536
#define OLD_SEC 1000000000

static char top[64];
static char content[CONTENT_BYTES], got[2 * CONTENT_BYTES];
static int top_fd, base_fd, layer_fd, copy_fd;
static struct fills *fills;

/* Writes a file of the directory, with an old time. */
static void write_base(const char *name, const char *text, size_t len, mode_t mode)
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

static void reopen(void)
{
	fills_free(fills);
	fills = NULL;
	ck_assert_int_eq(fills_open(layer_fd, base_fd, false, &fills), 0);
}

static void setup(void)
{
	struct copy_size size = {0};
	struct copy_failure failure = {.path = ""};

	(void)snprintf(top, sizeof(top), "/var/tmp/test_fill.XXXXXX");
	memset(content, 'x', sizeof(content));
	top_fd = open(mkdtemp(top), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(mkdirat(top_fd, "base", 0700), 0);
	ck_assert_int_eq(mkdirat(top_fd, "layer", 0700), 0);
	base_fd = io_open_dir(top_fd, "base");
	layer_fd = io_open_dir(top_fd, "layer");
	write_base("f", content, sizeof(content), 0444);
	write_base("small", "small", 5, 0644);
	ck_assert_int_eq(copy_tree(base_fd, layer_fd, true, 0, &size, &failure), 0);
	copy_fd = io_open_dir(layer_fd, COPY_DIR_NAME);
	if (faccessat(layer_fd, COPY_PLACEHOLDERS_NAME, F_OK, 0) < 0)
		exit(0); /* the file system does not tell when a file was made */
	reopen();
}

static void teardown(void)
{
	fills_free(fills);
	fills = NULL;
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, top), 0);
}

static struct stat status(const char *name)
{
	struct stat st;

	ck_assert_int_eq(fstatat(copy_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static struct fill_file *find(const char *name)
{
	const struct stat st = status(name);

	return fills_find(fills, copy_fd, name, &st);
}

static int fill(const char *name, unsigned flags)
{
	int fd = openat(copy_fd, name, O_PATH | O_CLOEXEC), r;

	ck_assert_ptr_nonnull(find(name));
	r = fills_fill(fills, find(name), fd, flags);
	(void)close(fd);
	return r;
}

/* Fails unless the file of the copy has this content, and mode and time of the file that it is of. */
static void check_has(const char *name, const char *text, size_t len, mode_t mode)
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

static void check_is_placeholder(const char *name, off_t size)
{
	const struct stat st = status(name);

	ck_assert_ptr_nonnull(find(name));
	ck_assert_int_eq(st.st_blocks, 0);
	ck_assert_int_eq(st.st_size, size);
	ck_assert_int_eq(st.st_mtim.tv_sec, OLD_SEC);
}

/* The record of a file; there must be one. */
static struct fill_record read_record(const char *name)
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

START_TEST(filled)
{
	struct fill_record record;

	check_is_placeholder("f", CONTENT_BYTES);
	ck_assert_int_eq(fill("f", 0), 0);
	check_has("f", content, sizeof(content), 0444);
	ck_assert_ptr_null(find("f"));
	record = read_record("f");
	ck_assert_uint_eq(record.state, FILL_DONE);
	ck_assert_int_eq(record.kept.sec, status("f").st_ctim.tv_sec);
	ck_assert_int_eq(record.kept.nsec, status("f").st_ctim.tv_nsec);
	check_is_placeholder("small", 5);
	reopen();
	ck_assert_ptr_null(find("f"));
	ck_assert_int_eq(fill("small", FILL_FOR_CHANGE), 0);
	check_has("small", "small", 5, 0644);
	ck_assert_int_eq(read_record("small").kept.sec, 0);
}
END_TEST

/* A process was killed: the file has a part of something, a later time, and may be written. */
START_TEST(killed)
{
	const struct stat st = status("f");
	const struct fill_record begun = {.inode = st.st_ino,
					  .state = FILL_BEGUN,
					  .mode = st.st_mode,
					  .mtime = {st.st_mtim.tv_sec, st.st_mtim.tv_nsec},
					  .atime = {st.st_atim.tv_sec, st.st_atim.tv_nsec}};
	int fd = openat(layer_fd, FILLS_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_eq(io_write_all(fd, &begun, sizeof(begun)), 0);
	ck_assert_int_eq(io_write_all(fd, &begun, sizeof(begun) / 2), 0); /* of another file, not wholly written */
	(void)close(fd);
	ck_assert_int_eq(fchmodat(copy_fd, "f", 0644, 0), 0);
	fd = openat(copy_fd, "f", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "half", 4, CONTENT_BYTES + 1000), 4);
	(void)close(fd);
	reopen();
	ck_assert_int_eq(fill("f", 0), 0);
	check_has("f", content, sizeof(content), 0444);
	/* Whether the program had changed its attributes before is not known. */
	ck_assert_int_eq(read_record("f").kept.sec, 0);
	reopen();
	ck_assert_ptr_null(find("f"));
	ck_assert_int_eq(fill("small", 0), 0); /* takes the place of the other record */
	ck_assert_uint_eq(read_record("small").state, FILL_DONE);
}
END_TEST

START_TEST(changed_outside)
{
	int fd;

	write_base("f", "other", 5, 0444);
	write_base("small", content, sizeof(content), 0644);
	ck_assert_int_eq(fill("f", FILL_AS_COPIED), -ESTALE);
	check_is_placeholder("f", CONTENT_BYTES);
	ck_assert_int_eq(fill("f", 0), 0);
	check_has("f", "other", 5, 0444);
	ck_assert_int_eq(fill("small", 0), 0);
	check_has("small", content, sizeof(content), 0644);
	fd = openat(layer_fd, FILLS_NAME, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 2 * (off_t)sizeof(struct fill_record));
	(void)close(fd);
}
END_TEST

/* Filling has failed when all was written: of a small file, no block may stay that would pass for its content. */
START_TEST(changed_while_read)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC, 2}};
	int fd = openat(copy_fd, "small", O_WRONLY | O_CLOEXEC), source;

	write_base("small", "other", 5, 0644);
	source = openat(base_fd, "small", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fills_fill_from(fills, find("small"), fd, source, FILL_AS_COPIED), -ESTALE);
	(void)close(source);
	check_is_placeholder("small", 5);
	reopen();
	check_is_placeholder("small", 5);
	/* As where the file system does not free it. */
	ck_assert_int_eq(pwrite(fd, "\0\0\0\0", 5, 0), 5);
	ck_assert_int_eq(futimens(fd, times), 0);
	(void)close(fd);
	ck_assert_int_eq(fill("small", 0), 0);
	check_has("small", "other", 5, 0644);
}
END_TEST

/* A placeholder that was emptied has its content; not so if another file was, or if its record is not known. */
START_TEST(emptied)
{
	int fd = openat(copy_fd, "small", O_RDWR | O_CLOEXEC), other = openat(layer_fd, "o", O_RDWR | O_CREAT, 0600);
	struct fill_file *file = find("small");

	ck_assert(fills_may_empty(fills, file));
	fills_note_emptied(fills, file, other);
	fills_note_emptied(fills, file, fd);
	check_is_placeholder("small", 5);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	fills_note_emptied(fills, file, fd);
	ck_assert_ptr_null(find("small"));
	ck_assert_uint_eq(read_record("small").state, FILL_DONE);
	(void)close(other);
	(void)close(fd);
	ck_assert_int_eq(unlinkat(layer_fd, FILLS_NAME, 0), 0);
	ck_assert_int_eq(mkdirat(layer_fd, FILLS_NAME, 0700), 0);
	(void)fills_reload(fills);
	ck_assert(!fills_may_empty(fills, find("f")));
}
END_TEST

START_TEST(gone)
{
	ck_assert_int_eq(unlinkat(base_fd, "f", 0), 0);
	ck_assert_int_eq(unlinkat(base_fd, "small", 0), 0);
	ck_assert_int_eq(mkdirat(base_fd, "small", 0700), 0);
	ck_assert_int_eq(fill("f", 0), -ESTALE);
	ck_assert_int_eq(fill("small", 0), -ESTALE);
	check_is_placeholder("f", CONTENT_BYTES);
	check_is_placeholder("small", 5);
	ck_assert_int_lt(faccessat(layer_fd, FILLS_NAME, F_OK, 0), 0);
}
END_TEST

/* What cannot be recorded is not done. */
START_TEST(no_records)
{
	const struct stat before = status("f");

	ck_assert_int_eq(mkdirat(layer_fd, FILLS_NAME, 0700), 0);
	ck_assert_int_lt(fill("f", 0), 0);
	check_is_placeholder("f", CONTENT_BYTES);
	ck_assert_int_eq(status("f").st_ctim.tv_nsec, before.st_ctim.tv_nsec);
}
END_TEST

/* The content cannot be written: the file is a placeholder again, and counts as unchanged. */
START_TEST(undone)
{
	struct rlimit limit = {0}, low;
	struct fill_record record;

	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	low = limit;
	low.rlim_cur = CONTENT_BYTES / 2;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
	ck_assert_int_lt(fill("f", 0), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	record = read_record("f");
	ck_assert_uint_ne(record.state, FILL_DONE);
	ck_assert_uint_eq(status("f").st_mode & 07777, 0444);
	if (record.state == FILL_UNDONE) { /* else it could not be made as large again, below the limit */
		check_is_placeholder("f", CONTENT_BYTES);
		ck_assert_int_eq(record.kept.nsec, status("f").st_ctim.tv_nsec);
	}
	reopen();
	ck_assert_int_eq(fill("f", 0), 0);
	check_has("f", content, sizeof(content), 0444);
}
END_TEST

/* A newer file with the number of a placeholder is none. */
START_TEST(reused)
{
	struct stat st;
	int fd = openat(copy_fd, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)close(fd);
	st = status("new");
	ck_assert_ptr_null(fills_find(fills, copy_fd, "new", &st));
	st.st_ino = status("f").st_ino;
	ck_assert_ptr_null(fills_find(fills, copy_fd, "new", &st));
	ck_assert_ptr_nonnull(find("f"));
}
END_TEST

/* Replaces a file of the layer by a copy of it, in which a text is put at a place. */
static void rewrite(const char *name, size_t at, const void *bytes, size_t count)
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

static int open_again(void)
{
	fills_free(fills);
	fills = NULL;
	return fills_open(layer_fd, base_fd, false, &fills);
}

/* The placeholders of a copy of the layer, of another form, or damaged are not read. */
START_TEST(not_those_that_were_made)
{
	struct stat st;

	rewrite(COPY_RECORDS_NAME, 0, "", 0);
	ck_assert_int_eq(open_again(), -EBADMSG);
	/* The same number, by chance, but made later. */
	ck_assert_int_eq(fstatat(layer_fd, COPY_RECORDS_NAME, &st, 0), 0);
	rewrite(COPY_PLACEHOLDERS_NAME, offsetof(struct copy_placeholders_head, records_inode), &st.st_ino,
		sizeof(st.st_ino));
	ck_assert_int_eq(open_again(), -EBADMSG);
}
END_TEST

START_TEST(of_another_form)
{
	const struct copy_placeholder zeros = {0};

	rewrite(COPY_PLACEHOLDERS_NAME, sizeof(struct copy_placeholders_head), &zeros, sizeof(zeros));
	ck_assert_int_eq(open_again(), -EBADMSG);
	rewrite(COPY_PLACEHOLDERS_NAME, 0, "other", 5);
	ck_assert_int_eq(open_again(), -EBADMSG);
	ck_assert_int_eq(unlinkat(layer_fd, COPY_PLACEHOLDERS_NAME, 0), 0);
	ck_assert_int_eq(open_again(), -ENOENT);
}
END_TEST

/* As after a crash of the machine: the copy was made before it was started. */
static void restart(void)
{
	rewrite(COPY_PLACEHOLDERS_NAME, offsetof(struct copy_placeholders_head, boot_id), "other", sizeof("other"));
	reopen();
}

/* Changes a file as the program does, without a record. size: -1: as large as it is; hole: it has no content. */
static void change(const char *name, off_t size, bool hole)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC + 1, 2}};
	struct stat st = status(name);
	int fd;

	ck_assert_int_eq(fchmodat(copy_fd, name, st.st_mode | 0200, 0), 0);
	fd = openat(copy_fd, name, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	memset(got, 'n', sizeof(got));
	if (!hole)
		ck_assert_int_eq(io_write_all(fd, got, (size_t)(size < 0 ? st.st_size : size)), 0);
	ck_assert_int_eq(ftruncate(fd, size < 0 ? st.st_size : size), 0);
	ck_assert_int_eq(futimens(fd, times), 0);
	(void)close(fd);
	ck_assert_int_eq(fchmodat(copy_fd, name, st.st_mode & 07777, 0), 0);
}

static void remove_records(void)
{
	ck_assert_int_eq(unlinkat(layer_fd, FILLS_NAME, 0), 0);
	restart();
}

/* The machine has crashed: what the program has written and synced is there, but not the record of the content. */
START_TEST(crashed_without_record)
{
	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	ck_assert_int_eq(fill("small", FILL_FOR_CHANGE), 0);
	change("f", -1, false);
	remove_records();
	ck_assert_ptr_null(find("f"));
	/* Filled, and not changed. */
	ck_assert_ptr_null(find("small"));
	change("f", 10, false);
	ck_assert_ptr_null(find("f"));
	change("f", 0, false);
	ck_assert_ptr_null(find("f"));
	/* Its blocks are not there: they may never be shown. */
	change("f", CONTENT_BYTES, true);
	ck_assert_ptr_nonnull(find("f"));
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
	change("f", CONTENT_BYTES * 2, true);
	ck_assert_int_eq(fill("f", FILL_AS_COPIED), -EUCLEAN);
}
END_TEST

/* A part of the content came to the disk, and the time, but not the record. */
START_TEST(crashed_before_content)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC, 2}};
	int fd;

	ck_assert_int_eq(fill("small", 0), 0); /* so that there is the file of records */
	ck_assert_int_eq(fchmodat(copy_fd, "f", 0600, 0), 0);
	fd = openat(copy_fd, "f", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(io_write_all(fd, "part", 4), 0);
	ck_assert_int_eq(futimens(fd, times), 0);
	(void)close(fd);
	ck_assert_int_eq(fchmodat(copy_fd, "f", 0444, 0), 0);
	remove_records();
	ck_assert_int_eq(fill("f", FILL_AS_COPIED), 0);
	check_has("f", content, sizeof(content), 0444);
}
END_TEST

/* Sets the time in the record of a file at which it was filled. */
static void record_kept(const char *name, struct timespec kept)
{
	struct fill_record record = read_record(name);
	struct fill_record *all = NULL;
	size_t count = 0, at = 0;

	ck_assert_int_eq(fills_read_records(layer_fd, &all, &count), 0);
	while (all[at].inode != record.inode)
		at++;
	free(all);
	record.kept = (struct copy_time){kept.tv_sec, kept.tv_nsec};
	rewrite(FILLS_NAME, at * sizeof(record), &record, sizeof(record));
}

/* The record came to the disk, but not what it tells. */
START_TEST(crashed_with_record)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC, 2}};
	struct timespec later;

	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	ck_assert_int_eq(fill("small", 0), 0);
	change("f", -1, true);
	change("small", -1, true);
	ck_assert_int_eq(utimensat(copy_fd, "small", times, 0), 0);
	ck_assert_ptr_null(find("f")); /* without a crash, the program has made the hole */
	later = status("small").st_ctim;
	later.tv_sec++;
	record_kept("small", later);
	restart();
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
	ck_assert_int_eq(fill("small", FILL_AS_COPIED), 0);
	check_has("small", "small", 5, 0644);
	change("small", 3, false);
	ck_assert_ptr_null(find("small"));
}
END_TEST

/* The program has written to files, left holes in them, and has set their former times, as `rsync --inplace -t`. */
START_TEST(restarted_with_former_time)
{
	const struct timespec times[2] = {{OLD_SEC, 1}, {OLD_SEC, 2}};

	ck_assert_int_eq(fill("f", 0), 0);
	ck_assert_int_eq(fill("small", FILL_FOR_CHANGE), 0);
	change("f", -1, true);
	change("small", -1, true);
	ck_assert_int_eq(utimensat(copy_fd, "f", times, 0), 0);
	ck_assert_int_eq(utimensat(copy_fd, "small", times, 0), 0);
	restart();
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
	ck_assert_int_eq(fill("small", 0), -EUCLEAN);
}
END_TEST

/* A file with holes, which had changed outside before it was read, and was not changed by the program. */
START_TEST(restarted_with_hole_of_source)
{
	int fd = openat(base_fd, "small", O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, CONTENT_BYTES), 0);
	(void)close(fd);
	ck_assert_int_eq(fill("small", 0), 0);
	ck_assert_int_ne(status("small").st_mtim.tv_sec, OLD_SEC);
	restart();
	ck_assert_int_eq(fill("small", 0), 0);
	ck_assert_int_eq(status("small").st_size, CONTENT_BYTES);
}
END_TEST

/* Sets or removes a flag of the copy. */
static void set_flag(enum copy_record_flag flag, bool on)
{
	int fd = openat(layer_fd, COPY_RECORDS_NAME, O_RDWR | O_CLOEXEC);
	const off_t at = lseek(fd, 0, SEEK_END) - 1 - (off_t)sizeof(struct copy_record);
	struct copy_record last;

	ck_assert_int_eq(pread(fd, &last, sizeof(last), at), (ssize_t)sizeof(last));
	last.flags = on ? last.flags | flag : last.flags & ~(unsigned)flag;
	ck_assert_int_eq(pwrite(fd, &last, sizeof(last), at), (ssize_t)sizeof(last));
	(void)close(fd);
	reopen();
}

/* Content that the file system compresses takes less room than its size, and is no hole. */
START_TEST(restarted_with_compressed)
{
	struct stat st;

	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	change("f", -1, false);
	restart();
	st = status("f");
	st.st_blocks = 1;
	if (status("small").st_blocks == 0) /* a file system with holes */
		ck_assert_ptr_null(fills_find(fills, copy_fd, "f", &st));
	set_flag(COPY_FINDS_HOLES, false);
	ck_assert_ptr_nonnull(fills_find(fills, copy_fd, "f", &st));
	set_flag(COPY_FINDS_HOLES, true);
	ck_assert_ptr_null(fills_find(fills, copy_fd, "f", &st));
}
END_TEST

/* Files that the program has made unreadable for itself are looked at as well. */
START_TEST(restarted_with_unreadable)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2] = {0};
	struct stat st;
	int fd;

	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	change("f", -1, false);
	ck_assert_int_eq(fchmodat(copy_fd, "f", 0200, 0), 0);
	restart();
	ck_assert_int_eq(syscall(SYS_capset, &head, caps), 0); /* root's */
	ck_assert_int_lt(openat(copy_fd, "f", O_RDONLY | O_CLOEXEC), 0);
	ck_assert_ptr_null(find("f"));
	ck_assert_uint_eq(status("f").st_mode & 07777, 0200);
	fd = openat(copy_fd, "f", O_PATH | O_CLOEXEC);
	st = status("f");
	ck_assert_ptr_null(fills_find(fills, fd, "", &st));
	(void)close(fd);
}
END_TEST

/* In the run itself a hole is what the program has made, also where it cannot be told when the machine was started. */
START_TEST(live_without_boot_id)
{
	ck_assert_int_eq(fill("f", FILL_FOR_CHANGE), 0);
	change("f", -1, true);
	restart();
	ck_assert_ptr_nonnull(find("f"));
	fills_free(fills);
	ck_assert_int_eq(fills_open(layer_fd, base_fd, true, &fills), 0);
	ck_assert_ptr_null(find("f"));
}
END_TEST

/* It had been begun when the machine crashed. */
START_TEST(crashed_while_filling)
{
	const struct stat st = status("f");
	const struct fill_record begun = {.inode = st.st_ino,
					  .state = FILL_BEGUN,
					  .mode = st.st_mode,
					  .mtime = {st.st_mtim.tv_sec, st.st_mtim.tv_nsec}};
	int fd = openat(layer_fd, FILLS_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_eq(io_write_all(fd, &begun, sizeof(begun)), 0);
	(void)close(fd);
	restart();
	change("f", -1, false);
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
	change("f", -1, true);
	ck_assert_int_eq(fill("f", 0), -EUCLEAN);
}
END_TEST

#define LEFT LEFTOVER_RESTORE_PREFIX "0123456789abcdef"

/* Removes what a note tells. Whether the entry at the path is there afterwards. */
static bool left_stays(const char *path)
{
	ck_assert_int_eq(leftover_note(layer_fd, path), 0);
	ck_assert(leftover_is_noted(layer_fd));
	ck_assert_int_eq(leftover_remove(layer_fd, copy_fd), 0);
	ck_assert(!leftover_is_noted(layer_fd));
	return faccessat(copy_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What a process that was killed has left is removed, and nothing to which a link leads. */
START_TEST(left)
{
	ck_assert_int_eq(mkdirat(copy_fd, "d", 0700), 0);
	ck_assert_int_eq(mkdirat(copy_fd, "d/" LEFT, 0700), 0);
	ck_assert_int_eq(mkdirat(copy_fd, "d/" LEFT "/y", 0700), 0);
	ck_assert_int_eq(mkdirat(base_fd, LEFT, 0700), 0);
	ck_assert_int_eq(leftover_note(layer_fd, "earlier, and longer than the other path"), 0);
	ck_assert(!left_stays("d/" LEFT));
	ck_assert(!left_stays("d/" LEFT));
	ck_assert_int_eq(symlinkat("../../base", copy_fd, "e"), 0);
	ck_assert(left_stays("e/" LEFT));
	ck_assert(left_stays("../../base/" LEFT));
	ck_assert(left_stays("/"));
	ck_assert_int_eq(renameat(copy_fd, "small", copy_fd, LEFTOVER_LINK_NAME), 0);
	ck_assert(!left_stays(LEFTOVER_LINK_NAME));
	ck_assert_int_eq(leftover_note(layer_fd, ""), 0);
	ck_assert_int_eq(leftover_remove(layer_fd, copy_fd), 0);
	ck_assert(!leftover_is_noted(layer_fd));
	ck_assert_int_eq(leftover_remove(layer_fd, copy_fd), 0);
}
END_TEST

/* What has another name is the program's. */
START_TEST(left_by_the_program)
{
	static const char *const names[] = {".callgate-",
					    LEFTOVER_RESTORE_PREFIX,
					    "small",
					    LEFTOVER_LINK_NAME "s",
					    LEFT "0",
					    LEFTOVER_RESTORE_PREFIX "0123456789ABCDEF",
					    LEFTOVER_LINK_NAME "/x"};

	ck_assert_int_eq(mkdirat(copy_fd, LEFTOVER_LINK_NAME, 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)mkdirat(copy_fd, names[i], 0700);
		ck_assert_msg(left_stays(names[i]), "%s", names[i]);
	}
	ck_assert(left_stays("."));
	ck_assert(left_stays(LEFTOVER_LINK_NAME "/.."));
}
END_TEST

/* A note that cannot be written as a whole would be the path of something else. */
START_TEST(left_on_a_full_disk)
{
	struct rlimit before, few = {.rlim_cur = 1};

	ck_assert_int_eq(mkdirat(copy_fd, "d", 0700), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	few.rlim_max = before.rlim_max;
	ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
	ck_assert_int_eq(leftover_note(layer_fd, "d/" LEFT), -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert(!leftover_is_noted(layer_fd));
	ck_assert_int_eq(leftover_remove(layer_fd, copy_fd), 0);
	ck_assert_int_eq(faccessat(copy_fd, "d", F_OK, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fill");
	TCase *tcase = tcase_create("files");

	tcase_add_checked_fixture(tcase, setup, teardown);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, filled);
	tcase_add_test(tcase, killed);
	tcase_add_test(tcase, changed_outside);
	tcase_add_test(tcase, changed_while_read);
	tcase_add_test(tcase, emptied);
	tcase_add_test(tcase, gone);
	tcase_add_test(tcase, no_records);
	tcase_add_test(tcase, undone);
	tcase_add_test(tcase, reused);
	tcase_add_test(tcase, not_those_that_were_made);
	tcase_add_test(tcase, of_another_form);
	tcase_add_test(tcase, crashed_without_record);
	tcase_add_test(tcase, crashed_before_content);
	tcase_add_test(tcase, crashed_with_record);
	tcase_add_test(tcase, restarted_with_former_time);
	tcase_add_test(tcase, restarted_with_hole_of_source);
	tcase_add_test(tcase, restarted_with_compressed);
	tcase_add_test(tcase, restarted_with_unreadable);
	tcase_add_test(tcase, live_without_boot_id);
	tcase_add_test(tcase, crashed_while_filling);
	tcase_add_test(tcase, left);
	tcase_add_test(tcase, left_by_the_program);
	tcase_add_test(tcase, left_on_a_full_disk);
	return unit_run(suite);
}
