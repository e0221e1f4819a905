#include "workspace/executed/marks.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/io.h"

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* signs: one of them is enough. parts: first components of what belongs to it; NULL: all does. */
static const struct {
	const char *name;
	const char *const *signs;
	const char *const *parts;
} executed_marks[] = {
	{".git", TEXTS("HEAD"), NULL}, /* executed_marks_is_git() decides */
	{".venv", TEXTS("pyvenv.cfg", "conda-meta", "bin/activate_this.py", "Scripts/activate_this.py"),
	 TEXTS("bin", "conda-meta", "condabin", "dlls", "etc", "lib", "lib64", "libexec", "library", "pyvenv.cfg",
	       "sbin", "scripts", "share")},
	{"node_modules", TEXTS(".modules.yaml", ".package-lock.json", ".yarn-integrity", ".yarn-state.yml"), NULL},
	{".cargo", TEXTS(".crates.toml", ".crates2.json", ".package-cache"),
	 TEXTS("bin", "config", "config.toml", "credentials", "credentials.toml", "env", "git", "registry")},
	{".gnupg", TEXTS("pubring.gpg", "pubring.kbx", "trustdb.gpg"),
	 TEXTS("common.conf", "dirmngr.conf", "gpg-agent.conf", "gpg.conf", "gpgsm.conf", "scdaemon.conf")},
};
_Static_assert(sizeof(executed_marks) / sizeof(executed_marks[0]) == EXECUTED_MARKS_MAX, "one of each mark");

/* A directory whose entries are looked for. */
struct executed_place {
	const struct workspace_layer *layer; /* NULL: of the host */
	int host_fd;
	const char *dir;
};

static bool executed_marks_is_there(const struct workspace_layer *layer, int root_fd, const char *path)
{
	_cleanup_close_ int fd = workspace_open_entry(root_fd, path);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	       !(layer && root_fd == layer->upper_fd && workspace_is_removed(layer, &st));
}

/* True when the directory has an entry, a link included, before the apply or after it. */
static bool executed_marks_has(const struct executed_place *place, const char *name)
{
	char path[PATH_MAX];

	if (!place->layer)
		return executed_marks_is_there(NULL, place->host_fd, name);
	if (snprintf(path, sizeof(path), "%s%s%s", place->dir, *place->dir ? "/" : "", name) >= (int)sizeof(path))
		return false;
	return executed_marks_is_there(place->layer, place->layer->base_fd, path) ||
	       executed_marks_is_there(place->layer, place->layer->upper_fd, path);
}

/* As is_git_directory() of git's setup.c. With "commondir", objects and refs are those of another one. */
static bool executed_marks_is_git(const struct executed_place *place)
{
	return executed_marks_has(place, "HEAD") &&
	       (executed_marks_has(place, "commondir") ||
		(executed_marks_has(place, "objects") && executed_marks_has(place, "refs")));
}

static unsigned executed_marks_find_at(const struct executed_place *place)
{
	unsigned marks = executed_marks_is_git(place) ? EXECUTED_MARK_GIT : 0;

	for (unsigned i = 1; i < EXECUTED_MARKS_MAX; i++)
		for (const char *const *sign = executed_marks[i].signs; *sign && !(marks & (1u << i)); sign++)
			if (executed_marks_has(place, *sign))
				marks |= 1u << i;
	return marks;
}

unsigned executed_marks_find_on_host(const char *dir)
{
	_cleanup_close_ int fd = io_open_dir(AT_FDCWD, dir);
	const struct executed_place place = {.host_fd = fd, .dir = ""};

	return fd < 0 ? 0 : executed_marks_find_at(&place);
}

unsigned executed_marks_find(const struct workspace_layer *layer, const char *dir)
{
	const struct executed_place place = {.layer = layer, .host_fd = -1, .dir = dir};

	return executed_marks_find_at(&place);
}

const char *executed_marks_get_name(unsigned mark, const char *rest)
{
	const size_t len = strcspn(rest, "/");
	const char *const *part = executed_marks[mark].parts;

	while (part && *part && (strncasecmp(*part, rest, len) != 0 || (*part)[len] != '\0'))
		part++;
	return part && !*part ? NULL : executed_marks[mark].name;
}
