/*
 * Tells what each call that only reads answers, for each path of a list: cases-reads LIST OUTPUT. A line for each
 * path and call: "PATH<tab>CALL<tab>ANSWER", where an answer is an errno's name, or what was read. Newlines in paths
 * do not occur.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static void say(const char *path, const char *call, const char *answer)
{
	(void)printf("%s\t%s\t%s\n", path, call, answer);
}

static void say_result(const char *path, const char *call, int result)
{
	say(path, call, result < 0 ? strerrorname_np(errno) : "ok");
}

static uint64_t hash(uint64_t seed, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	while (len-- > 0)
		seed = (seed ^ *at++) * UINT64_C(1099511628211);
	return seed;
}

/* The type and mode, owner and, of files, the size; not times, which calls change. */
static void say_stat(const char *path, const char *call, int result, const struct stat *st)
{
	char text[96];

	if (result < 0) {
		say_result(path, call, result);
		return;
	}
	(void)snprintf(text, sizeof(text), "%o %u %lld", st->st_mode, st->st_uid,
		       S_ISREG(st->st_mode) ? (long long)st->st_size : 0LL);
	say(path, call, text);
}

/* The content, up to 1 MB. */
static void say_content(const char *path, int fd)
{
	static char bytes[1 << 20];
	char text[64];
	ssize_t len = read(fd, bytes, sizeof(bytes));

	if (len < 0) {
		say_result(path, "read", -1);
		return;
	}
	(void)snprintf(text, sizeof(text), "%zd bytes %016llx", len, (unsigned long long)hash(1, bytes, (size_t)len));
	say(path, "read", text);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void say_listing(const char *path, DIR *dir)
{
	static char *name[1 << 16];
	const struct dirent *entry;
	size_t names = 0;
	uint64_t seed = 1;
	char text[64];

	while (names < sizeof(name) / sizeof(name[0]) && (entry = readdir(dir)))
		name[names++] = strdup(entry->d_name);
	qsort(name, names, sizeof(name[0]), compare_names);
	for (size_t i = 0; i < names; i++) {
		seed = hash(seed, name[i], strlen(name[i]) + 1);
		free(name[i]);
	}
	(void)snprintf(text, sizeof(text), "%zu names %016llx", names, (unsigned long long)seed);
	say(path, "list", text);
}

static void say_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	DIR *dir;

	say_result(path, "open", fd);
	if (fd < 0)
		return;
	dir = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? fdopendir(fd) : NULL;
	if (dir) {
		say_listing(path, dir);
		(void)closedir(dir);
		return;
	}
	if (S_ISREG(st.st_mode))
		say_content(path, fd);
	(void)close(fd);
}

static void say_path(const char *path)
{
	static const struct {
		const char *call;
		int mode;
	} modes[] = {{"exists", F_OK}, {"readable", R_OK}, {"writable", W_OK}, {"executable", X_OK}};
	struct stat st = {0};
	struct statvfs fs;
	char text[4096];
	ssize_t len;
	int r = lstat(path, &st);

	say_stat(path, "lstat", r, &st);
	r = stat(path, &st);
	say_stat(path, "stat", r, &st);
	say_open(path);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		say_result(path, modes[i].call, access(path, modes[i].mode));
	len = readlink(path, text, sizeof(text) - 1);
	if (len >= 0)
		text[len] = '\0';
	say(path, "readlink", len < 0 ? strerrorname_np(errno) : text);
	r = statvfs(path, &fs);
	(void)snprintf(text, sizeof(text), "flags %lx", fs.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC));
	say(path, "statfs", r < 0 ? strerrorname_np(errno) : text);
	say_result(path, "getxattr", (int)getxattr(path, "user.none", text, sizeof(text)));
	say_result(path, "listxattr", (int)listxattr(path, text, sizeof(text)));
}

int main(int argc, char **argv)
{
	FILE *list = argc > 1 ? fopen(argv[1], "re") : NULL;
	char path[8192];

	if (!list || argc < 3 || !freopen(argv[2], "we", stdout))
		return 2;
	while (fgets(path, sizeof(path), list)) {
		path[strcspn(path, "\n")] = '\0';
		say_path(path);
	}
	return ferror(list) || fflush(stdout) != 0 ? 2 : 0;
}
