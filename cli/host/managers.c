#include "cli/host/managers.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"

/* A directory that holds one subdirectory for each version of an interpreter or for each environment. */
struct manager_directory {
	const char *env_variable;       /* environment variable with the directory's path; NULL: none */
	const char *default_dir;        /* default path, absolute or relative to the home directory; NULL: none */
	const char *versions_subdir;    /* subdirectory that holds the versions; "": the directory holds them itself */
	bool is_installation_itself;          /* the directory itself is also an installation */
};

static const struct manager_directory manager_places[] = {
	{"PYENV_ROOT", ".pyenv", "versions", false},
	{"RBENV_ROOT", ".rbenv", "versions", false},
	{"NODENV_ROOT", ".nodenv", "versions", false},
	{"NVM_DIR", ".nvm", "versions/node", false},
	{NULL, ".config/nvm", "versions/node", false},
	{"FNM_DIR", ".local/share/fnm", "node-versions", false},
	{NULL, ".fnm", "node-versions", false},
	{"N_PREFIX", "n", "n/versions/node", true},
	{"VOLTA_HOME", ".volta", "tools/image", false},
	{"ASDF_DATA_DIR", ".asdf", "installs", false},
	{"MISE_DATA_DIR", ".local/share/mise", "installs", false},
	{NULL, ".local/share/rtx", "installs", false},
	{"UV_PYTHON_INSTALL_DIR", ".local/share/uv/python", "", false},
	{NULL, ".rye/py", "", false},
	{NULL, ".rvm", "rubies", false},
	{NULL, ".rubies", "", false},
	{NULL, "miniconda3", "envs", true},
	{NULL, "miniconda", "envs", true},
	{NULL, "anaconda3", "envs", true},
	{NULL, "anaconda", "envs", true},
	{NULL, "miniforge3", "envs", true},
	{NULL, "mambaforge", "envs", true},
	{"MAMBA_ROOT_PREFIX", "micromamba", "envs", true},
	{"CONDA_PREFIX", NULL, "envs", true},
	{NULL, ".conda", "envs", false},
	/* directories of virtual environments */
	{"VIRTUAL_ENV", NULL, "", true},
	{"WORKON_HOME", ".virtualenvs", "", false},
	{NULL, ".local/share/virtualenvs", "", false},
	{NULL, ".cache/pypoetry/virtualenvs", "", false},
	{"PIPX_HOME", ".local/share/pipx", "venvs", false},
	{NULL, ".local/pipx", "venvs", false},
	/* directories where the system installs interpreters */
	{NULL, "/opt", "", false},
	{NULL, "/usr/lib", "", false},
	{NULL, "/usr/local", "", false},
	{NULL, "/usr/share", "", false},
	{NULL, "/nix/store", "", false},
	{NULL, "/gnu/store", "", false},
	{NULL, "/snap", "", false},
	{NULL, "/home/linuxbrew/.linuxbrew", "", true},
	{NULL, "/usr/share/rvm", "rubies", false},
};

/* True for a directory such as PREFIX/lib, which holds more than an interpreter. */
static bool managers_prefix_is_shared(const char *prefix)
{
	static const char *const names[] = {"bin", "sbin", "etc", "lib", "lib64", "libexec",
					   "share", "include", "src", "var"};
	const char *name = strrchr(prefix, '/') + 1;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/*
 * Whether ROOT/BELOW leads to a directory that holds the prefix or, with `itself`, to the prefix itself. *ret_place:
 * ROOT/BELOW without its links resolved, owned.
 */
static bool managers_path_contains_prefix(const char *root, const char *below, const char *prefix, bool itself,
				       char **ret_place)
{
	_cleanup_free_ char *path = text_format("%s/%s", root, below), *real = path ? realpath(path, NULL) : NULL;
	const char *rest = real ? path_get_rest_below(prefix, real) : NULL;

	if (!rest || itself == (*rest != '\0'))
		return false;
	*ret_place = steal_pointer(&path);
	return true;
}

/*
 * Whether an interpreter's prefix is one of the versions that a version manager keeps below `root`, or `root` itself.
 */
static bool managers_directory_contains_prefix(const char *root, const struct manager_directory *place,
					       const char *prefix, char **ret_place)
{
	return managers_path_contains_prefix(root, place->versions_subdir, prefix, false, ret_place) ||
	       (place->is_installation_itself && managers_path_contains_prefix(root, "", prefix, true, ret_place));
}

/*
 * Whether the prefix belongs to the manager whose root is in the environment or, else, at its default. *ret_place:
 * owned.
 */
static bool managers_directory_matches(const struct manager_directory *place, const char *home, const char *prefix,
				   char **ret_place)
{
	const char *root = place->env_variable ? getenv(place->env_variable) : NULL;
	_cleanup_free_ char *path = NULL;

	if (root && root[0] == '/' && managers_directory_contains_prefix(root, place, prefix, ret_place))
		return true;
	if (!place->default_dir)
		return false;
	if (place->default_dir[0] == '/')
		return managers_directory_contains_prefix(place->default_dir, place, prefix, ret_place);
	path = home ? text_format("%s/%s", home, place->default_dir) : NULL;
	return path && managers_directory_contains_prefix(path, place, prefix, ret_place);
}

bool managers_may_grant_prefix(const char *prefix, const char *named_home, const char *named_workdir, char **ret_place)
{
	_cleanup_free_ char *home = named_home ? realpath(named_home, NULL) : NULL;
	_cleanup_free_ char *workdir = named_workdir ? realpath(named_workdir, NULL) : NULL;
	_cleanup_free_ char *local_path = home ? text_format("%s/.local", home) : NULL;
	_cleanup_free_ char *local = local_path ? realpath(local_path, NULL) : NULL;

	*ret_place = NULL;
	if (strcmp(prefix, "/") == 0 || (home && path_is_below(home, prefix)) ||
	    (local && path_is_below(local, prefix)) ||
	    (workdir && path_is_below(workdir, prefix) && strcmp(workdir, prefix) != 0))
		return false;
	if (workdir && path_is_below(prefix, workdir))
		return true;
	for (size_t i = 0; i < sizeof(manager_places) / sizeof(manager_places[0]) &&
	     !managers_prefix_is_shared(prefix); i++)
		if (managers_directory_matches(&manager_places[i], home, prefix, ret_place))
			return true;
	return false;
}
