#include "workspace/executed/git-paths.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "workspace/executed/git-config.h"

#define GIT_FILE_BYTES_MAX ((size_t)1 << 20)
#define GIT_INCLUDES_MAX 10      /* depth, as in git */
#define GIT_FILES_MAX 64         /* configuration files of a repository */
#define GIT_REPOSITORIES_MAX 256 /* with a configuration */

/* What git does with a variable's value. */
enum git_use {
	GIT_USE_FILE,
	GIT_USE_DIR,
	GIT_USE_INCLUDE,
	GIT_USE_COMMAND,
	GIT_USE_SHELL, /* a command if it begins with "!" */
};

/* Variables whose values name what git runs or obeys. key NULL: each of the section. */
static const struct {
	const char *section, *key;
	enum git_use use;
} git_variables[] = {
	{"core", "hookspath", GIT_USE_DIR},
	{"init", "templatedir", GIT_USE_DIR},
	{"core", "attributesfile", GIT_USE_FILE},
	{"include", "path", GIT_USE_INCLUDE},
	{"includeif", "path", GIT_USE_INCLUDE},
	{"alias", NULL, GIT_USE_SHELL},
	{"browser", NULL, GIT_USE_COMMAND},
	{"core", "alternaterefscommand", GIT_USE_COMMAND},
	{"core", "askpass", GIT_USE_COMMAND},
	{"core", "editor", GIT_USE_COMMAND},
	{"core", "fsmonitor", GIT_USE_COMMAND},
	{"core", "gitproxy", GIT_USE_COMMAND},
	{"core", "pager", GIT_USE_COMMAND},
	{"core", "sshcommand", GIT_USE_COMMAND},
	{"credential", "helper", GIT_USE_COMMAND},
	{"diff", "command", GIT_USE_COMMAND},
	{"diff", "external", GIT_USE_COMMAND},
	{"diff", "textconv", GIT_USE_COMMAND},
	{"difftool", NULL, GIT_USE_COMMAND},
	{"filter", NULL, GIT_USE_COMMAND},
	{"gpg", NULL, GIT_USE_COMMAND},
	{"guitool", "cmd", GIT_USE_COMMAND},
	{"hook", "command", GIT_USE_COMMAND},
	{"interactive", "difffilter", GIT_USE_COMMAND},
	{"man", NULL, GIT_USE_COMMAND},
	{"merge", "driver", GIT_USE_COMMAND},
	{"mergetool", NULL, GIT_USE_COMMAND},
	{"pager", NULL, GIT_USE_COMMAND},
	{"remote", "receivepack", GIT_USE_COMMAND},
	{"remote", "uploadpack", GIT_USE_COMMAND},
	{"sendemail", NULL, GIT_USE_COMMAND},
	{"sequence", "editor", GIT_USE_COMMAND},
	{"submodule", "update", GIT_USE_SHELL},
	{"tar", "command", GIT_USE_COMMAND},
	{"trailer", NULL, GIT_USE_COMMAND},
	{"uploadpack", "packobjectshook", GIT_USE_COMMAND},
};

/* ---- the list of paths ---- */

/* Keeps an absolute path if it is about the workspace's directory. */
static void git_paths_keep(struct git_paths *paths, const char *path, bool has_below)
{
	struct git_path *list;

	if (!path_is_below(path, paths->root) && !(has_below && path_is_below(paths->root, path)))
		return;
	for (size_t i = 0; i < paths->count; i++)
		if (paths->path[i].has_below == has_below && strcmp(paths->path[i].path, path) == 0)
			return;
	list = arena_grow_array(paths->arena, paths->path, paths->count, sizeof(*list));
	path = list ? arena_dup(paths->arena, path) : NULL;
	if (!path) {
		paths->has_no_memory = true;
		return;
	}
	paths->path = list;
	paths->path[paths->count++] = (struct git_path){.path = path, .has_below = has_below};
}

/* The absolute path of a value, "~" being the home directory. False: it has none. */
static bool git_paths_join(const char *dir, const char *text, char ret_path[PATH_MAX])
{
	const char *home = getenv("HOME");
	bool is_lexical;

	if (text[0] == '~' && text[1] == '/') {
		if (!home || home[0] != '/')
			return false;
		dir = home;
		text += 2 + strspn(text + 2, "/");
	}
	return *text && path_join(dir, text, ret_path, PATH_MAX, &is_lexical) >= 0;
}

/* Keeps what a text names in a directory, and what that is when links are followed, also of a name that is free. */
static void git_paths_add(struct git_paths *paths, const char *dir, const char *text, bool has_below)
{
	char path[PATH_MAX], parent[PATH_MAX], real[PATH_MAX];
	const char *name;

	if (!git_paths_join(dir, text, path))
		return;
	git_paths_keep(paths, path, has_below);
	if (realpath(path, real)) {
		git_paths_keep(paths, real, has_below);
	} else if (path_split(path, parent, &name) == 0 && realpath(*parent ? parent : "/", real) &&
		   path_append_name(real, name, path) == 0) {
		git_paths_keep(paths, path, has_below);
	}
}

/* Keeps each word of a command that may be a file of a directory. "." is none. */
static void git_paths_add_command(struct git_paths *paths, const char *dir, const char *command)
{
	static const char separators[] = " \t\n'\"`;|&()<>{}=!$";
	char word[PATH_MAX];

	while (*(command += strspn(command, separators))) {
		const size_t len = strcspn(command, separators);

		(void)snprintf(word, sizeof(word), "%.*s", (int)len, command);
		if (word[strspn(word, "./")] && word[0] != '-')
			git_paths_add(paths, dir, word, false);
		command += len;
	}
}

/* ---- configuration files ---- */

/* A repository that is read. */
struct git_reading {
	struct git_paths *paths;
	const char *worktree; /* what values are relative to */
	size_t file_count;
};

static char *git_paths_read_file(const char *path, size_t cap)
{
	_cleanup_close_ int fd = io_open_regular(path);
	char *text = NULL;
	size_t len;

	return fd >= 0 && io_read_fd(fd, cap, &text, &len) == 0 ? text : NULL;
}

/* Keeps what a variable names. Returns the file that it includes, in `included`, or NULL. */
static const char *git_paths_add_variable(const struct git_reading *reading, const char *config,
					  const struct git_config_variable *variable, char included[PATH_MAX])
{
	char dir[PATH_MAX];
	const char *name;

	for (size_t i = 0; i < sizeof(git_variables) / sizeof(git_variables[0]); i++) {
		if (strcmp(git_variables[i].section, variable->section) != 0 ||
		    (git_variables[i].key && strcmp(git_variables[i].key, variable->key) != 0))
			continue;
		switch (git_variables[i].use) {
		case GIT_USE_DIR:
		case GIT_USE_FILE:
			git_paths_add(reading->paths, reading->worktree, variable->value,
				      git_variables[i].use == GIT_USE_DIR);
			break;
		case GIT_USE_COMMAND:
			git_paths_add_command(reading->paths, reading->worktree, variable->value);
			break;
		case GIT_USE_SHELL:
			if (variable->value[0] == '!')
				git_paths_add_command(reading->paths, reading->worktree, variable->value);
			break;
		case GIT_USE_INCLUDE: /* relative to the file; conditions are taken for true */
			if (path_split(config, dir, &name) < 0 || !git_paths_join(dir, variable->value, included))
				break;
			git_paths_add(reading->paths, "/", included, false);
			return included;
		}
	}
	return NULL;
}

/* Reads a configuration file, and those that it includes. True: it is there. */
static bool git_paths_read_config(struct git_reading *reading, const char *path, unsigned depth)
{
	_cleanup_free_ char *text = NULL;
	struct git_config_variable variable = {.section = ""};
	char included[PATH_MAX];
	const char *at, *include;

	if (depth > GIT_INCLUDES_MAX || reading->file_count >= GIT_FILES_MAX)
		return false;
	text = git_paths_read_file(path, GIT_FILE_BYTES_MAX);
	if (!text)
		return false;
	reading->file_count++;
	for (at = text; git_config_read(&at, &variable);) {
		include = git_paths_add_variable(reading, path, &variable, included);
		if (include)
			(void)git_paths_read_config(reading, include, depth + 1);
	}
	return true;
}

/* Reads the configuration of the user and of the system, which may name what is relative to each repository. */
static void git_paths_read_global(struct git_reading *reading)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");
	char path[PATH_MAX];

	if (git_paths_join("/", "~/.gitconfig", path))
		(void)git_paths_read_config(reading, path, 0);
	if (xdg && xdg[0] == '/' ? path_append_name(xdg, "git/config", path) == 0
				 : git_paths_join("/", "~/.config/git/config", path))
		(void)git_paths_read_config(reading, path, 0);
	(void)git_paths_read_config(reading, "/etc/gitconfig", 0);
}

/* ---- repositories ---- */

/* Reads a file with the path of a directory in its only line, after `key`. False: there is none. */
static bool git_paths_read_link(const char *dir, const char *name, const char *key, char ret_path[PATH_MAX])
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];

	if (path_append_name(dir, name, path) < 0)
		return false;
	text = git_paths_read_file(path, PATH_MAX + 16);
	if (!text || strncmp(text, key, strlen(key)) != 0)
		return false;
	text[strcspn(text, "\r\n")] = '\0';
	return git_paths_join(dir, text + strlen(key), ret_path);
}

/* True when a git directory, with this worktree, is new, and not one too many. */
static bool git_paths_note_repository(struct git_paths *paths, const char *git_dir, const char *worktree)
{
	const struct git_repository *at = paths->repository;
	struct git_repository *list, new;

	for (size_t i = 0; i < paths->repository_count; i++)
		if (strcmp(at[i].git_dir, git_dir) == 0 && strcmp(at[i].worktree, worktree) == 0)
			return false;
	if (paths->repository_count >= GIT_REPOSITORIES_MAX)
		return false;
	list = arena_grow_array(paths->arena, paths->repository, paths->repository_count, sizeof(*list));
	new = (struct git_repository){.git_dir = arena_dup(paths->arena, git_dir),
				      .worktree = arena_dup(paths->arena, worktree)};
	if (!list || !new.git_dir || !new.worktree) {
		paths->has_no_memory = true;
		return false;
	}
	paths->repository = list;
	paths->repository[paths->repository_count++] = new;
	return true;
}

/* Reads the repository of a git directory. worktree: what its values are relative to. */
static void git_paths_read_git_dir(struct git_paths *paths, const char *git_dir, const char *worktree)
{
	static const struct {
		const char *name;
		bool has_below;
	} obeyed[] = {{"config", false}, {"hooks", true}, {"info/attributes", false}};
	struct git_reading reading = {.paths = paths, .worktree = worktree};
	char common[PATH_MAX], path[PATH_MAX];

	if (!git_paths_read_link(git_dir, "commondir", "", common))
		(void)snprintf(common, sizeof(common), "%s", git_dir);
	if (path_append_name(common, "config", path) < 0 || access(path, F_OK) < 0 ||
	    !git_paths_note_repository(paths, git_dir, worktree))
		return;
	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++) /* each may be a link */
		git_paths_add(paths, common, obeyed[i].name, obeyed[i].has_below);
	git_paths_add(paths, git_dir, "config.worktree", false);
	(void)git_paths_read_config(&reading, path, 0);
	if (path_append_name(git_dir, "config.worktree", path) == 0)
		(void)git_paths_read_config(&reading, path, 0);
	git_paths_read_global(&reading);
}

void git_paths_read_repository(struct git_paths *paths, const char *dir, bool is_git_dir)
{
	char git_dir[PATH_MAX];
	struct stat st;

	if (strlen(dir) >= PATH_MAX || !*paths->root)
		return;
	if (path_append_name(dir, ".git", git_dir) == 0 && lstat(git_dir, &st) == 0 &&
	    (stat(git_dir, &st) < 0 || S_ISDIR(st.st_mode) || git_paths_read_link(dir, ".git", "gitdir: ", git_dir)))
		git_paths_read_git_dir(paths, git_dir, dir);
	if (is_git_dir && strcmp(strrchr(dir, '/') + 1, ".git") != 0)
		git_paths_read_git_dir(paths, dir, dir);
}

bool git_paths_has(const struct git_paths *paths, const char *path, enum git_paths_kind kind)
{
	if (paths->has_no_memory)
		return true;
	for (size_t i = 0; i < paths->count; i++) {
		const struct git_path *item = &paths->path[i];

		if (item->has_below && path_is_below(path, item->path))
			return true;
		if (kind != GIT_PATHS_DIR && strcmp(path, item->path) == 0)
			return true;
		if (kind == GIT_PATHS_LINK && path_is_below(item->path, path))
			return true;
	}
	return false;
}
