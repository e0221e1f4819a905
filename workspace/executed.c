#include "workspace/executed.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"

int executed_init(struct executed *executed)
{
	executed->dirs = executed_dirs_create(&executed->arena, &executed->names);
	return executed->dirs ? executed_names_init(&executed->names, &executed->arena) : -ENOMEM;
}

void executed_release(struct executed *executed)
{
	arena_release(&executed->arena);
}

void executed_read_repositories(const struct executed *executed, const struct workspace_layer *layer,
				const struct workspace_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		executed_dirs_read_repositories(executed->dirs, layer, changes->item[i].path);
	executed_dirs_forget(executed->dirs);
}

/* True when a link may lead out of the directory. Only leading ".." are counted: another one may follow a link. */
static bool executed_leads_out(const char *path, const char *target)
{
	long depth = 0;

	if (target[0] == '/')
		return true;
	for (; *path; path++)
		depth += *path == '/';
	while (strncmp(target, "../", 3) == 0 || strcmp(target, "..") == 0) {
		if (--depth < 0)
			return true;
		target += target[2] ? 3 : 2;
		target += strspn(target, "/");
	}
	for (const char *at = target; (at = strstr(at, "..")); at += 2)
		if ((at == target || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
	return false;
}

static const char *executed_judge_link(const struct workspace_layer *layer, const char *path)
{
	_cleanup_close_ int fd = workspace_open_entry(layer->upper_fd, path);
	char target[PATH_MAX];
	const ssize_t len = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target) - 1);

	if (len < 0)
		return "it cannot be read";
	target[len] = '\0';
	return executed_leads_out(path, target) ? "it is a link that may lead out of the directory" : NULL;
}

/* Whether a file gives rights to each process that executes it. */
static const char *executed_judge_file(const struct workspace_layer *layer, const struct workspace_change *change)
{
	_cleanup_close_ int fd = -1;

	if (change->upper.mode & (S_ISUID | S_ISGID))
		return "it has a set-id bit";
	fd = workspace_open_entry(layer->upper_fd, change->path);
	if (fd < 0)
		return "it cannot be read";
	if (getxattr(io_proc_fd_path(fd).path, "security.capability", NULL, 0) >= 0)
		return "it has capabilities";
	return errno == ENODATA || errno == EOPNOTSUPP ? NULL : "its attributes cannot be read";
}

const char *executed_find_reason(const struct executed *executed, const struct workspace_layer *layer,
				 const struct workspace_change *change)
{
	const char *reason;

	if (!change->upper.exists || !*change->path)
		return NULL;
	if (S_ISDIR(change->upper.mode)) /* itself it is harmless, but nothing of it is applied */
		return change->kind == WORKSPACE_ADDED
			       ? executed_dirs_find_dir(executed->dirs, layer, change->path, NULL)
			       : NULL;
	reason = executed_dirs_find(executed->dirs, layer, change->path, S_ISLNK(change->upper.mode));
	if (reason)
		return reason;
	if (S_ISLNK(change->upper.mode))
		return executed_judge_link(layer, change->path);
	return S_ISREG(change->upper.mode) ? executed_judge_file(layer, change) : NULL;
}

size_t executed_find_whole_dir(const struct executed *executed, const struct workspace_layer *layer, const char *path)
{
	char dir[PATH_MAX];
	const char *name;
	size_t len = 0;

	if (path_split(path, dir, &name) == 0 && *dir)
		(void)executed_dirs_find_dir(executed->dirs, layer, dir, &len);
	return len;
}

const char *executed_find_reason_of_dir(const struct executed *executed, const char *dir)
{
	static const char *const system_dirs[] = {
		"/usr",    "/etc",  "/bin", "/sbin",           "/lib",         "/lib32", "/lib64",
		"/libx32", "/boot", "/opt", "/var/spool/cron", "/var/lib/dpkg"};

	for (size_t i = 0; i < sizeof(system_dirs) / sizeof(system_dirs[0]); i++)
		if (path_is_below(dir, system_dirs[i]) || path_is_below(system_dirs[i], dir))
			return "the system runs or obeys what is there";
	return executed_names_find(&executed->names, dir, EXECUTED_MATCH_HOST_DIR);
}
