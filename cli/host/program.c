#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/host/program.h"

#define SHIM_VERSION_FILE_BYTES_MAX 65536

bool program_is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/*
 * ---- shims ----
 *
 * Version managers put scripts into PATH that are named like the programs they manage. Which program a shim starts is
 * read from the manager's documented files. The manager is not run: it is not trusted.
 */

/* A version manager like pyenv: versions in ROOT/versions, the chosen version in a variable or a file. */
static const struct shim_manager {
	const char *env_variable;       /* variable with the chosen version */
	const char *local_version_file; /* file with the chosen version, searched from the current directory upwards */
	const char *marker_file;        /* a file that only this manager's root directory has */
} shim_managers[] = {
	{"PYENV_VERSION", ".python-version", "libexec/pyenv"},
	{"RBENV_VERSION", ".ruby-version", "libexec/rbenv"},
	{"NODENV_VERSION", ".node-version", "libexec/nodenv"},
};

bool program_strip_directory(const char *path, const char *below, char out[PATH_MAX])
{
	const char *name = strrchr(path, '/');
	size_t below_len = strlen(below), len = name ? (size_t)(name - path) : 0;

	if (len <= below_len || len >= PATH_MAX || path[len - below_len - 1] != '/' ||
	    memcmp(path + len - below_len, below, below_len) != 0)
		return false;
	memcpy(out, path, len - below_len - 1);
	out[len - below_len - 1] = '\0';
	return true;
}

static bool shim_root_has_file(const char *root, const char *name)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/%s", root, name) < sizeof(path) && access(path, F_OK) == 0;
}

/*
 * Finds the manager whose root directory this is. NULL: none, as for plugins/pyenv-virtualenv, which has no versions.
 */
static const struct shim_manager *shim_find_manager(const char *root)
{
	for (size_t i = 0; i < sizeof(shim_managers) / sizeof(shim_managers[0]); i++)
		if (shim_root_has_file(root, shim_managers[i].marker_file))
			return &shim_managers[i];
	return NULL;
}

/* Returns the text of a version manager's file such as .python-version, owned, or NULL if it cannot be read. */
static char *shim_read_version_file(const char *dir, const char *name)
{
	_cleanup_free_ char *path = text_format("%s/%s", dir, name);
	char *text;
	size_t len;

	return !path || io_read_file(AT_FDCWD, path, SHIM_VERSION_FILE_BYTES_MAX, &text, &len) < 0 ? NULL : text;
}

/*
 * Reads the list of chosen versions: from the manager's environment variable, else from the nearest local version file,
 * else from ROOT/version. Owned; NULL: none.
 */
static char *shim_read_chosen_versions(const struct shim_manager *manager, const char *root)
{
	const char *variable = getenv(manager->env_variable);
	char dir[PATH_MAX], *slash;

	if (variable && *variable)
		return strdup(variable);
	for (slash = getcwd(dir, sizeof(dir)) ? dir + strlen(dir) : NULL; slash; slash = strrchr(dir, '/')) {
		char *text;

		*slash = '\0';
		/* for the root directory `dir` is "", because the function puts a "/" between directory and name */
		text = shim_read_version_file(dir, manager->local_version_file);
		if (text)
			return text;
	}
	return shim_read_version_file(root, "version");
}

/* Finds ROOT/versions/VERSION/bin/NAME. Owned; NULL: it does not exist. */
static char *shim_find_by_version(const char *root, const char *version, const char *name)
{
	_cleanup_free_ char *path = text_format("%s/versions/%s/bin/%s", root, version, name);

	if (strchr(version, '/') || strcmp(version, "..") == 0)
		return NULL;
	return path && program_is_executable(path) ? steal_pointer(&path) : NULL;
}

/* Finds the program in the newest version that matches: "3.11" means the newest 3.11.*, as in pyenv. */
static char *shim_find_by_newest_version(const char *root, const char *version, const char *name)
{
	char directory[PATH_MAX], best[NAME_MAX + 1] = "";
	_cleanup_closedir_ DIR *dir = NULL;
	size_t len = strlen(version);
	const struct dirent *entry;

	if ((size_t)snprintf(directory, sizeof(directory), "%s/versions", root) >= sizeof(directory))
		return NULL;
	dir = opendir(directory);
	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, version, len) == 0 && entry->d_name[len] == '.' &&
		    strverscmp(entry->d_name, best) > 0)
			(void)snprintf(best, sizeof(best), "%s", entry->d_name); /* fits: at most NAME_MAX bytes */
	return *best ? shim_find_by_version(root, best, name) : NULL;
}

/* Finds the program behind a shim in the first of the manager's chosen versions that has it. Owned; NULL: none. */
static char *shim_find_by_manager(const struct shim_manager *manager, const char *root, const char *name)
{
	_cleanup_free_ char *list = shim_read_chosen_versions(manager, root);
	char *save = NULL;

	for (char *version = list ? strtok_r(list, ": \t\r\n", &save) : NULL; version;
	     version = strtok_r(NULL, ": \t\r\n", &save)) {
		char *found;

		if (strcmp(version, "system") == 0)
			return NULL;
		found = shim_find_by_version(root, version, name);
		if (!found)
			found = shim_find_by_newest_version(root, version, name);
		if (found)
			return found;
	}
	return NULL;
}

/*
 * Reads from an asdf shim the versions that have the program ("# asdf-plugin: nodejs 18.0.0"). Returns the program's
 * path in the first of them that is installed.
 */
static char *shim_find_by_asdf_list(const char *path, const char *root, const char *name)
{
	static const char mark[] = "# asdf-plugin: ";
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char line[512], plugin[128], version[128];

	while (file && fgets(line, sizeof(line), file)) {
		_cleanup_free_ char *found = NULL;

		if (strncmp(line, mark, sizeof(mark) - 1) != 0 ||
		    sscanf(line + sizeof(mark) - 1, "%127s %127s", plugin, version) != 2 || strchr(plugin, '/') ||
		    strchr(version, '/') || strcmp(plugin, "..") == 0 || strcmp(version, "..") == 0)
			continue;
		found = text_format("%s/installs/%s/%s/bin/%s", root, plugin, version, name);
		if (found && program_is_executable(found))
			return steal_pointer(&found);
	}
	return NULL;
}

/*
 * Finds the program that a version manager's shim would start for this name from the current directory. False: the file
 * is not in the "shims" directory of pyenv, rbenv, nodenv or asdf. *ret_target: owned; NULL: the manager's choice is
 * "system" or is not installed.
 */
static bool shim_find_target(const char *path, const char *name, char **ret_target)
{
	const struct shim_manager *manager;
	char root[PATH_MAX];

	if (!program_strip_directory(path, "shims", root))
		return false;
	manager = shim_find_manager(root);
	if (!manager && !shim_root_has_file(root, "installs"))
		return false;
	*ret_target = manager ? shim_find_by_manager(manager, root, name) : shim_find_by_asdf_list(path, root, name);
	return true;
}

/* ---- searching PATH ---- */

char *program_get_nth_path_dir(unsigned number)
{
	const char *path = getenv("PATH"), *end;

	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (number-- == 0)
			return strndup(path, (size_t)(end - path));
	}
	return NULL;
}

char *program_find_executable(const char *name)
{
	if (!*name)
		return NULL;
	if (strchr(name, '/'))
		return program_is_executable(name) ? strdup(name) : NULL;
	for (unsigned i = 0;; i++) {
		_cleanup_free_ char *dir = program_get_nth_path_dir(i);
		_cleanup_free_ char *path = dir ? text_format("%s/%s", *dir ? dir : ".", name) : NULL;
		char *target;

		if (!dir)
			return NULL;
		if (!path || !program_is_executable(path))
			continue;
		if (!shim_find_target(path, name, &target))
			return steal_pointer(&path);
		if (target)
			return target;
		/* the manager's choice is "system" or is not installed: go on in PATH */
	}
}

/* ---- reading "#!" lines ---- */

enum env_word_kind {
	ENV_WORD_IS_SKIPPED,     /* an option that has no argument in the next word, or "NAME=VALUE" */
	ENV_WORD_WANTS_ARGUMENT, /* an option whose argument is the next word */
	ENV_WORD_ENDS_OPTIONS,   /* the word "--", which ends the options */
	ENV_WORD_IS_PROGRAM,     /* the name of the program that env starts */
	ENV_WORD_IS_UNKNOWN,     /* an unknown option, or a change of PATH */
};

/* Classifies the options of env(1), GNU and BSD, that a "#!" line can use. */
static enum env_word_kind env_classify_option(const char *word)
{
	static const char *const plain[] = {"-", "-i", "--ignore-environment", "-v", "--debug"};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strcmp(word, plain[i]) == 0)
			return ENV_WORD_IS_SKIPPED;
	if (strcmp(word, "--") == 0)
		return ENV_WORD_ENDS_OPTIONS;
	if (strcmp(word, "-u") == 0 || strcmp(word, "--unset") == 0 || strcmp(word, "-C") == 0 ||
	    strcmp(word, "--chdir") == 0)
		return ENV_WORD_WANTS_ARGUMENT;
	if (strncmp(word, "-C", 2) == 0 || strncmp(word, "--chdir=", 8) == 0)
		return ENV_WORD_IS_SKIPPED;
	if (strncmp(word, "--unset=", 8) == 0)
		return strcmp(word + 8, "PATH") == 0 ? ENV_WORD_IS_UNKNOWN : ENV_WORD_IS_SKIPPED;
	if (strncmp(word, "-u", 2) == 0)
		return strcmp(word + 2, "PATH") == 0 ? ENV_WORD_IS_UNKNOWN : ENV_WORD_IS_SKIPPED;
	return word[0] == '-' ? ENV_WORD_IS_UNKNOWN : ENV_WORD_IS_PROGRAM;
}

/* What a word of env(1)'s command line is. options: options may still come. */
static enum env_word_kind env_classify_word(const char *word, bool options)
{
	enum env_word_kind kind = options ? env_classify_option(word) : ENV_WORD_IS_PROGRAM;

	if (kind == ENV_WORD_IS_PROGRAM && strchr(word, '='))
		return strncmp(word, "PATH=", 5) == 0 ? ENV_WORD_IS_UNKNOWN : ENV_WORD_IS_SKIPPED;
	return kind;
}

/* True for an absolute path or a name without "/". A relative path depends on the directory, which -C may change. */
static bool env_program_is_same_in_any_cwd(const char *program)
{
	return program[0] == '/' || !strchr(program, '/');
}

/* The program that "env -S TEXT" runs, borrowed from `text`. NULL: the text is not understood. */
static const char *env_parse_split_string(char *text)
{
	bool options = true;
	char *save = NULL;

	if (strpbrk(text, "\"'\\$#")) /* quotes, escapes, variables and comments are not understood */
		return NULL;
	for (char *word = strtok_r(text, " \t\r", &save); word; word = strtok_r(NULL, " \t\r", &save)) {
		enum env_word_kind kind = env_classify_word(word, options);

		if (kind == ENV_WORD_IS_UNKNOWN || kind == ENV_WORD_IS_PROGRAM)
			return kind == ENV_WORD_IS_PROGRAM && env_program_is_same_in_any_cwd(word) ? word : NULL;
		if (kind == ENV_WORD_WANTS_ARGUMENT &&
		    (!(word = strtok_r(NULL, " \t\r", &save)) || strcmp(word, "PATH") == 0))
			return NULL;
		/* options end at "--" and at the first "NAME=VALUE" */
		options =
			options && kind != ENV_WORD_ENDS_OPTIONS && (word[0] == '-' || kind == ENV_WORD_WANTS_ARGUMENT);
	}
	return NULL;
}

/* The program that env runs for a "#!" line, whose rest the kernel passes as one argument. NULL: not understood. */
static const char *env_find_program(char *text)
{
	static const char split[] = "--split-string=";

	if (strncmp(text, "-S", 2) == 0)
		return env_parse_split_string(text + 2);
	if (strncmp(text, split, sizeof(split) - 1) == 0)
		return env_parse_split_string(text + sizeof(split) - 1);
	return text[strcspn(text, " \t=")] || !*text || *text == '-' ? NULL : text;
}

int program_read_script_line(const char *path, char line[SCRIPT_FIRST_LINE_BYTES_MAX + 1])
{
	_cleanup_close_ int fd = io_open_regular(path);
	ssize_t len;

	if (fd < 0)
		return fd == -EINVAL || io_error_means_absent(fd) ? 0 : fd;
	len = pread(fd, line, SCRIPT_FIRST_LINE_BYTES_MAX, 0);
	if (len < 0)
		return -errno;
	if (len < 2 || line[0] != '#' || line[1] != '!')
		return 0;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 1;
}

char *program_find_script_interpreter(const char *path, bool *ret_unknown)
{
	char line[SCRIPT_FIRST_LINE_BYTES_MAX + 1], *word, *rest;
	const char *name, *slash;

	if (program_read_script_line(path, line) <= 0)
		return NULL;
	for (size_t len = strlen(line); len > 2 && strchr(" \t\r", line[len - 1]); len--)
		line[len - 1] = '\0';
	word = line + 2 + strspn(line + 2, " \t");
	rest = word + strcspn(word, " \t");
	if (*rest)
		*rest++ = '\0';
	rest += strspn(rest, " \t");
	slash = strrchr(word, '/');
	if (!slash || strcmp(slash, "/env") != 0)
		return program_find_executable(word);
	name = env_find_program(rest);
	*ret_unknown = !name;
	return name ? program_find_executable(name) : NULL;
}
