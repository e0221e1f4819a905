/* The tree with which every case starts, and what a case changed in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "tests/cases/diff.h"

#define SNAP_CAP (64 * 1024)
#define FULL_LOOKS 8u /* one look of so many is from inside although the helper says that nothing was touched */
#define OLD_TIME 1000000000 /* modification time of everything in a fresh fixture */

const char *diff_base;
static char baseline[SNAP_CAP];
static char present[SNAP_CAP];
static unsigned looks, makes;

static void put_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
		diff_die(path);
	(void)close(fd); /* nothing to lose: the data is small and local */
}

static void put_dir(const char *path)
{
	if (mkdir(path, 0755) < 0)
		diff_die(path);
}

static void put_link(const char *target, const char *path)
{
	if (symlink(target, path) < 0)
		diff_die(path);
}

/*
 * 41 links in a row, one more than the kernel follows. They stay outside of what is compared: nothing can change them.
 */
static void put_link_chain(void)
{
	char from[32], to[32];

	if (mkdir("../links", 0755) < 0)
		return; /* made before */
	put_link("../c/file", "../links/l0");
	for (int i = 1; i < 40; i++) {
		snprintf(to, sizeof(to), "l%d", i - 1);
		snprintf(from, sizeof(from), "../links/l%d", i);
		put_link(to, from);
	}
}

static void set_old_times(const char *dir)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = OLD_TIME}};
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d))) {
		char path[600];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (e->d_type == DT_DIR)
			set_old_times(path);
		if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) < 0)
			diff_die(path);
	}
	closedir(d);
}

static void fill(void)
{
	char abs[4200];

	put_file("file", "hello\n", 0644);
	put_file("empty", "", 0600);
	put_dir("dir");
	put_file("dir/sub", "sub\n", 0640);
	put_dir("emptydir");
	put_dir("deep");
	put_dir("deep/target");
	put_file("deep/target/x", "x\n", 0644);
	put_file("deep/file", "deep\n", 0644);
	put_link("file", "lfile");
	put_link("dir", "ldir");
	put_link("deep/target", "ltarget");
	snprintf(abs, sizeof(abs), "%s/c/file", diff_base);
	put_link(abs, "labs");
	put_link("lfile", "lchain");
	put_link("nowhere", "dangling");
	put_link("nodir-at-all/nowhere", "dangling2");
	put_link("loop", "loop");
	put_link("loopa", "loopb");
	put_link("loopb", "loopa");
	put_link_chain();
	put_link("../links/l39", "l40");
	/*
	 * Half as many: a lookup that starts over without RCU goes on counting, so 40 are at times too many for the
	 * kernel.
	 */
	put_link("../links/l18", "l19");
	if (mkfifo("fifo", 0644) < 0 || mknod("sock", S_IFSOCK | 0644, 0) < 0)
		diff_die("fifo and socket");
	put_file("ro", "read only\n", 0444);
	put_file("noacc", "secret\n", 0000);
	put_dir("nodir");
	put_dir("rodir");
	put_file("rodir/x", "x\n", 0644);
	if (link("deep/file", "hard") < 0)
		diff_die("hard");
	(void)setxattr("file", "user.one", "1", 1, 0); /* a file system without them gives the same errors twice */
	set_old_times(".");
	if (chmod("nodir", 0000) < 0 || chmod("rodir", 0555) < 0)
		diff_die("chmod");
}

static void __attribute__((format(printf, 3, 4))) put(char **at, const char *end, const char *fmt, ...)
{
	size_t room = (size_t)(end - *at);
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(*at, room, fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= room)
		diff_die("the snapshot is too long");
	*at += len;
}

static void say_bytes(char **at, const char *end, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len && *at < end - 5; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c > 0x20 && c < 0x7f && c != '\\')
			*(*at)++ = (char)c;
		else
			put(at, end, "\\x%02x", c);
	}
}

static void say_content(char **at, const char *end, const char *path)
{
	char bytes[32];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t len;

	if (fd < 0) {
		put(at, end, " ?%d", errno);
		return;
	}
	len = read(fd, bytes, sizeof(bytes));
	*(*at)++ = ' ';
	say_bytes(at, end, bytes, len > 0 ? (size_t)len : 0);
	(void)close(fd);
}

static void say_xattrs(char **at, const char *end, const char *path)
{
	char names[512], value[64];
	ssize_t len = llistxattr(path, names, sizeof(names));

	for (ssize_t i = 0; i < len; i += (ssize_t)strlen(names + i) + 1) {
		ssize_t got;

		if (strncmp(names + i, "user.", 5) != 0)
			continue; /* security labels are the machine's own */
		got = lgetxattr(path, names + i, value, sizeof(value));
		put(at, end, " %s=", names + i);
		say_bytes(at, end, value, got > 0 ? (size_t)got : 0);
	}
}

/* Times the test itself set are told as numbers; the present one, which differs from run to run, as "now". */
static void say_times(char **at, const char *end, const struct stat *st)
{
	if (st->st_mtime > time(NULL) - 3600)
		put(at, end, " m=now");
	else if (st->st_mtime != OLD_TIME)
		put(at, end, " m=%ld.%09ld", (long)st->st_mtime, st->st_mtim.tv_nsec);
	if (st->st_atime < OLD_TIME)
		put(at, end, " a=%ld.%09ld", (long)st->st_atime, st->st_atim.tv_nsec);
}

static void say_entry(char **at, const char *end, const char *path, const struct stat *st)
{
	char target[256];
	ssize_t len;

	put(at, end, "%s %06o n%lu", path, (unsigned)st->st_mode, (unsigned long)st->st_nlink);
	if (S_ISREG(st->st_mode)) {
		put(at, end, " %lld", (long long)st->st_size);
		say_content(at, end, path);
		say_xattrs(at, end, path);
	} else if (S_ISDIR(st->st_mode)) {
		say_xattrs(at, end, path);
	} else if (S_ISLNK(st->st_mode)) {
		len = readlink(path, target, sizeof(target));
		put(at, end, " ->");
		say_bytes(at, end, target, len > 0 ? (size_t)len : 0);
	}
	say_times(at, end, st);
	*(*at)++ = '\n';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void snap_dir(char **at, const char *end, const char *dir, int depth)
{
	struct dirent **list;
	int count = scandir(dir, &list, NULL, by_name);

	for (int i = 0; i < count; i++) {
		const char *name = list[i]->d_name;
		char path[2048];
		struct stat st;

		if (strcmp(name, ".") && strcmp(name, "..") && *at < end - 2048 && strlen(name) + strlen(dir) < 900) {
			snprintf(path, sizeof(path), "%s/%s", dir, name);
			if (lstat(path, &st) == 0) {
				say_entry(at, end, path, &st);
				if (S_ISDIR(st.st_mode) && depth < 6)
					snap_dir(at, end, path, depth + 1);
			}
		}
		free(list[i]);
	}
	if (count >= 0)
		free(list);
}

static void snap(char *out)
{
	char *at = out;
	struct stat st;

	if (lstat(".", &st) == 0)
		say_entry(&at, out + SNAP_CAP, ".", &st);
	snap_dir(&at, out + SNAP_CAP, ".", 0);
	*at = '\0';
}

static void reopen_rights(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0700) != 0700)
		(void)chmod(path, 0755); /* the removal that follows tells whether it worked */
}

void diff_remove_tree(const char *path)
{
	DIR *d;
	struct dirent *e;
	struct stat st;

	reopen_rights(path);
	d = lstat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
	if (!d) {
		(void)unlink(path); /* a file or a link, or gone already */
		return;
	}
	while ((e = readdir(d))) {
		char below[8192];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
		if (e->d_type == DT_DIR || (e->d_type == DT_UNKNOWN && lstat(below, &st) == 0 && S_ISDIR(st.st_mode)))
			diff_remove_tree(below);
		else if (unlink(below) < 0)
			diff_die(below);
	}
	closedir(d);
	if (rmdir(path) < 0)
		diff_die(path);
}

void diff_fixture_make(void)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = OLD_TIME}};

	if (chdir(diff_base) < 0)
		diff_die(diff_base);
	diff_fixture_remove();
	put_dir("c");
	if (chdir("c") < 0)
		diff_die("c");
	fill();
	if (utimensat(AT_FDCWD, ".", times, 0) < 0)
		diff_die("utimensat");
	if (makes++ % FULL_LOOKS == 0)
		snap(baseline);
	diff_outside_fresh();
}

void diff_fixture_remove(void)
{
	struct stat st;

	if (lstat("c", &st) == 0)
		diff_remove_tree("c");
}

static const char *line_end(const char *line)
{
	const char *nl = strchr(line, '\n');

	return nl ? nl : line + strlen(line);
}

/* Lines are in the order of the walk; the path, up to the first space, is what makes two lines be about one entry. */
static const char *find_line(const char *in, const char *line)
{
	size_t path = strcspn(line, " ");

	for (; *in; in = *line_end(in) ? line_end(in) + 1 : line_end(in))
		if (!strncmp(in, line, path + 1))
			return in;
	return NULL;
}

static void add_line(char **at, const char *end, char sign, const char *line)
{
	size_t len = (size_t)(line_end(line) - line);

	if (*at + len + 4 < end) {
		put(at, end, " %c", sign);
		memcpy(*at, line, len);
		*at += len;
		**at = '\0';
	}
}

bool diff_fixture_changes(char *out, size_t cap)
{
	char *at = out;

	*out = '\0';
	if (!diff_outside_touched() && ++looks % FULL_LOOKS != 0)
		return false;
	snap(present);
	(void)diff_outside_touched(); /* by the look itself */
	if (!strcmp(present, baseline))
		return false;
	for (const char *l = baseline; *l; l = line_end(l) + 1)
		if (!find_line(present, l))
			add_line(&at, out + cap, '-', l);
	for (const char *l = present; *l; l = line_end(l) + 1) {
		const char *old = find_line(baseline, l);

		if (!old || (size_t)(line_end(old) - old) != (size_t)(line_end(l) - l) ||
		    strncmp(old, l, (size_t)(line_end(l) - l)) != 0)
			add_line(&at, out + cap, '+', l);
	}
	return true;
}
