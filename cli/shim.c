/* Read from the managers' documented files, never by running them: what they run is not ours to trust. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/program.h"
#include "cli/shim.h"

#include "base/banned.h"

#define VERSION_FILE_BYTES 65536

/* A manager of the pyenv family: versions in ROOT/versions, the chosen one in a variable or a file. */
struct manager {
	const char *variable;
	const char *local;  /* searched from the current directory upwards */
	const char *marker; /* of the manager, in its root */
};

static const struct manager managers[] = {
	{"PYENV_VERSION", ".python-version", "libexec/pyenv"},
	{"RBENV_VERSION", ".ruby-version", "libexec/rbenv"},
	{"NODENV_VERSION", ".node-version", "libexec/nodenv"},
};

/* "/root/.pyenv/shims/python3" gives "/root/.pyenv"; false when the directory is not called shims. */
static bool root_of(const char *path, char out[PATH_MAX])
{
	static const char shims[] = "/shims";
	char *slash;

	if ((size_t)snprintf(out, PATH_MAX, "%s", path) >= PATH_MAX)
		return false;
	slash = strrchr(out, '/');
	if (!slash)
		return false;
	*slash = '\0';
	slash = strrchr(out, '/');
	if (!slash || strcmp(slash, shims) != 0)
		return false;
	*slash = '\0';
	return true;
}

static bool has(const char *root, const char *name)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/%s", root, name) < sizeof(path) && access(path, F_OK) == 0;
}

/*
 * The manager whose root this is; NULL when none. pyenv-virtualenv has shims in plugins/pyenv-virtualenv: no versions.
 */
static const struct manager *manager_of(const char *root)
{
	for (size_t i = 0; i < sizeof(managers) / sizeof(managers[0]); i++)
		if (has(root, managers[i].marker))
			return &managers[i];
	return NULL;
}

static bool is_asdf(const char *root)
{
	return has(root, "installs");
}

bool shim_is(const char *path)
{
	char root[PATH_MAX];

	return root_of(path, root) && (manager_of(root) || is_asdf(root));
}

static char *read_text(const char *dir, const char *name)
{
	_cleanup_free_ char *path = NULL;
	char *text;
	size_t len;

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL; /* undefined after a failure */
		return NULL;
	}
	return io_read_file(AT_FDCWD, path, VERSION_FILE_BYTES, &text, &len) < 0 ? NULL : text;
}

/* The version list: the variable, else the nearest local file, else the global one. Owned. */
static char *chosen(const struct manager *manager, const char *root)
{
	const char *variable = getenv(manager->variable);
	char dir[PATH_MAX], *slash;

	if (variable && *variable)
		return strdup(variable);
	for (slash = getcwd(dir, sizeof(dir)) ? dir + strlen(dir) : NULL; slash; slash = strrchr(dir, '/')) {
		char *text;

		*slash = '\0';
		text = read_text(dir, manager->local); /* the root is "" here, as it should be before a "/" */
		if (text)
			return text;
	}
	return read_text(root, "version");
}

/* ROOT/versions/VERSION/bin/NAME, when it is there. */
static char *installed(const char *root, const char *version, const char *name)
{
	_cleanup_free_ char *path = NULL;

	if (strchr(version, '/') || strcmp(version, "..") == 0 ||
	    asprintf(&path, "%s/versions/%s/bin/%s", root, version, name) < 0) {
		path = NULL;
		return NULL;
	}
	return program_is_file(path) ? steal_pointer(&path) : NULL;
}

/* "3.11" means the newest of 3.11.*, as pyenv takes it. */
static char *newest(const char *root, const char *version, const char *name)
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
			(void)snprintf(best, sizeof(best), "%s", entry->d_name); /* fits: a directory entry's name */
	return *best ? installed(root, best, name) : NULL;
}

static char *managed(const struct manager *manager, const char *root, const char *name)
{
	_cleanup_free_ char *list = chosen(manager, root);
	char *save = NULL;

	for (char *version = list ? strtok_r(list, ": \t\r\n", &save) : NULL; version;
	     version = strtok_r(NULL, ": \t\r\n", &save)) {
		char *found;

		if (strcmp(version, "system") == 0)
			return NULL;
		found = installed(root, version, name);
		if (!found)
			found = newest(root, version, name);
		if (found)
			return found;
	}
	return NULL;
}

/* An asdf shim lists what has the program: "# asdf-plugin: nodejs 18.0.0". The first one there is taken. */
static char *listed(const char *path, const char *root, const char *name)
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
		if (asprintf(&found, "%s/installs/%s/%s/bin/%s", root, plugin, version, name) < 0) {
			found = NULL;
			return NULL;
		}
		if (program_is_file(found))
			return steal_pointer(&found);
	}
	return NULL;
}

char *shim_target(const char *path, const char *name)
{
	const struct manager *manager;
	char root[PATH_MAX];

	if (!root_of(path, root))
		return NULL;
	manager = manager_of(root);
	return manager ? managed(manager, root, name) : listed(path, root, name);
}
