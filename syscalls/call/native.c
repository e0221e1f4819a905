#include "syscalls/call/native.h"

#include <fcntl.h>

bool native_path_leads_to_file(const struct call *call, int dirfd, const char *text, unsigned flags,
			       const struct stat *expected)
{
	char path[PATH_MAX + 48];
	struct stat st;

	if (*text == '/')
		(void)snprintf(path, sizeof(path), "%s", text); /* the text is shorter than PATH_MAX */
	else if (dirfd == AT_FDCWD)
		(void)snprintf(path, sizeof(path), "/proc/%d/cwd/%s", (int)call->tid, text);
	else if (*text)
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d/%s", (int)call->tid, dirfd, text);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)call->tid, dirfd);
	if (fstatat(AT_FDCWD, path, &st, *text && flags & AT_SYMLINK_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return false; /* the path is not reachable, or too long with the prefix */
	return st.st_dev == expected->st_dev && st.st_ino == expected->st_ino;
}

void native_get_exec_path(const struct call *call, char *out, size_t cap)
{
	const struct call_path *path = &call->path[0];

	if (path->dirfd == AT_FDCWD || path->text[0] == '/')
		(void)snprintf(out, cap, "%s", path->text); /* `out` has room for any text and the prefix */
	else if (path->len == 0)
		(void)snprintf(out, cap, "/dev/fd/%d", path->dirfd);
	else
		(void)snprintf(out, cap, "/dev/fd/%d/%s", path->dirfd, path->text);
}
