/* Describes a file in the form EntryInfo of the E2B protocol. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "agents/files/files.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "keeper/utf8.h"

#define ENTRY_ACCOUNTS_FILE_BYTES_MAX (1u << 20) /* most bytes read of /etc/passwd, and of /etc/group */
#define ENTRY_XATTRS_BYTES_MAX (64u << 10)
#define ENTRY_ACCOUNT_NAME_SIZE 64

bool entry_is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

json_t *files_make_json_text(const char *text)
{
	bool was_changed;
	size_t len;
	_cleanup_free_ char *repaired = utf8_copy_repaired(text, strlen(text), &len, &was_changed);

	return repaired ? json_stringn(repaired, len) : NULL;
}

const char *entry_get_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- accounts ---- */

/*
 * /etc/passwd or /etc/group, and the name that was found last in that file. An id without a name is shown as a number.
 */
struct account_names {
	const char *accounts_file; /* /etc/passwd or /etc/group */
	bool has_cached_name;
	unsigned cached_uid_or_gid;
	char cached_name[ENTRY_ACCOUNT_NAME_SIZE];
};

/* True when a line "NAME:PASSWORD:NUMBER:…" has this number. *ret_len: the length of NAME. */
static bool account_line_matches(const char *line, unsigned number, size_t *ret_len)
{
	const char *password = strchr(line, ':'), *field = password ? strchr(password + 1, ':') : NULL;
	char *end;

	if (!field || field[1] < '0' || field[1] > '9' || strtoul(field + 1, &end, 10) != number || *end != ':')
		return false;
	*ret_len = (size_t)(password - line);
	return true;
}

/*
 * Returns the name for a number. Does not use getpwuid(3): NSS loads shared libraries, but this program is linked
 * statically.
 */
static const char *account_find_name(struct account_names *account, unsigned number)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	if (account->has_cached_name && account->cached_uid_or_gid == number)
		return account->cached_name;
	account->has_cached_name = true;
	account->cached_uid_or_gid = number;
	(void)snprintf(account->cached_name, sizeof(account->cached_name), "%u", number);
	if (io_read_file(AT_FDCWD, account->accounts_file, ENTRY_ACCOUNTS_FILE_BYTES_MAX, &text, &len) < 0)
		return account->cached_name;
	for (char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!account_line_matches(line, number, &len) || len >= sizeof(account->cached_name))
			continue;
		(void)snprintf(account->cached_name, sizeof(account->cached_name), "%.*s", (int)len, line);
		break;
	}
	return account->cached_name;
}

static const char *account_get_user_name(unsigned number)
{
	static struct account_names user = {.accounts_file = "/etc/passwd"};

	return account_find_name(&user, number);
}

static const char *account_get_group_name(unsigned number)
{
	static struct account_names group = {.accounts_file = "/etc/group"};

	return account_find_name(&group, number);
}

/* ---- metadata ---- */

json_t *entry_read_metadata(const char *path)
{
	static char names[ENTRY_XATTRS_BYTES_MAX], value[ENTRY_XATTRS_BYTES_MAX + 1];
	static const size_t prefix = sizeof(FILES_METADATA_PREFIX) - 1;
	json_t *found = json_object();
	ssize_t len = listxattr(path, names, sizeof(names) - 1), got;

	names[len > 0 ? len : 0] = '\0';
	for (const char *name = names; len > 0 && name < names + len; name += strlen(name) + 1) {
		if (strncmp(name, FILES_METADATA_PREFIX, prefix) != 0)
			continue;
		got = getxattr(path, name, value, sizeof(value) - 1);
		if (got < 0)
			continue;
		value[got] = '\0';
		/* an attribute whose name is not UTF-8 is left out */
		(void)json_object_set_new(found, name + prefix, files_make_json_text(value));
	}
	return found;
}

/* ---- description of a file ---- */

/* Writes a file mode as ls(1) shows it, such as "-rw-r--r--". */
static void entry_format_mode(mode_t mode, char text[11])
{
	static const char letters[] = "rwxrwxrwx";
	static const struct {
		mode_t type;
		char letter;
	} types[] = {{S_IFDIR, 'd'}, {S_IFLNK, 'l'}, {S_IFBLK, 'b'}, {S_IFCHR, 'c'}, {S_IFIFO, 'p'}, {S_IFSOCK, 's'}};

	text[0] = '-';
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((mode & S_IFMT) == types[i].type)
			text[0] = types[i].letter;
	for (int i = 0; i < 9; i++)
		text[1 + i] = mode & (0400u >> i) ? letters[i] : '-';
	if (mode & S_ISUID)
		text[3] = mode & S_IXUSR ? 's' : 'S';
	if (mode & S_ISGID)
		text[6] = mode & S_IXGRP ? 's' : 'S';
	if (mode & S_ISVTX)
		text[9] = mode & S_IXOTH ? 't' : 'T';
	text[10] = '\0';
}

/* Reads the target of a symbolic link, and makes it absolute. A new reference; NULL: the link cannot be read. */
static json_t *entry_read_link_target(const char *path)
{
	const char *name = entry_get_name(path);
	char target[PATH_MAX], normal[2 * PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target) - 1);
	_cleanup_free_ char *whole = NULL;
	bool is_lexical;

	if (len < 0)
		return NULL;
	target[len] = '\0';
	whole = target[0] == '/' ? strdup(target) : text_format("%.*s%s", (int)(name - path), path, target);
	if (!whole)
		return NULL;
	return path_join("/", whole, normal, sizeof(normal), &is_lexical) < 0 ? NULL : files_make_json_text(normal);
}

static const char *entry_get_type_name(mode_t mode)
{
	return S_ISREG(mode)   ? "FILE_TYPE_FILE"
	       : S_ISDIR(mode) ? "FILE_TYPE_DIRECTORY"
	       : S_ISLNK(mode) ? "FILE_TYPE_SYMLINK"
			       : "FILE_TYPE_UNSPECIFIED";
}

json_t *entry_describe(const char *path)
{
	const char *name = entry_get_name(path);
	char permissions[11], size[24], seconds[32] = "", when[48];
	json_t *link = NULL;
	struct stat st, target;
	struct tm tm;

	if (lstat(path, &st) < 0)
		return NULL;
	if (S_ISLNK(st.st_mode)) {
		link = entry_read_link_target(path);
		if (stat(path, &target) == 0)
			st = target;
	}
	entry_format_mode(st.st_mode, permissions);
	(void)snprintf(size, sizeof(size), "%lld", (long long)st.st_size);
	if (gmtime_r(&st.st_mtim.tv_sec, &tm))
		(void)strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(when, sizeof(when), "%s.%09ldZ", seconds, st.st_mtim.tv_nsec);
	errno = ENOMEM; /* for the caller, if json_pack() returns NULL */
	return json_pack("{s:o, s:o, s:o*, s:s, s:s, s:i, s:s, s:o, s:o, s:s, s:o}", "name",
			 files_make_json_text(*name ? name : "/"), "path", files_make_json_text(path), "symlinkTarget",
			 link, "type", entry_get_type_name(st.st_mode), "size", size, "mode", (int)(st.st_mode & 07777),
			 "permissions", permissions, "owner", files_make_json_text(account_get_user_name(st.st_uid)),
			 "group", files_make_json_text(account_get_group_name(st.st_gid)), "modifiedTime", when,
			 "metadata", entry_read_metadata(path));
}

int job_answer_with_entry(struct files_job *job, const char *path)
{
	json_t *entry = entry_describe(path);

	return entry ? job_set_answer(job, json_pack("{s:o}", "entry", entry)) : job_fail_with_path(job, errno, path);
}

int files_stat(struct files_job *job)
{
	return job_answer_with_entry(job, job->path);
}
