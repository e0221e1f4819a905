#include "cli/host/home-path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/host/program.h"
#include "policy/paths/explain.h"

/* Directories in the home directory where tools install programs, and further directories that these programs need. */
static const struct home_program_directory {
	const char *bin;      /* where the programs are, relative to the home directory */
	const char *more_dirs_to_grant[3];  /* further directories to grant, where they exist */
	/* environment variable to set to the first existing directory of `more_dirs_to_grant`; NULL: none */
	const char *env_variable;
} home_places[] = {
	{".cargo/bin", {".rustup"}, "RUSTUP_HOME"},
	{".local/bin", {".local/lib", ".local/share/pipx", ".local/share/uv"}, NULL},
	{".pyenv/shims", {".pyenv"}, "PYENV_ROOT"},
	{".pyenv/bin", {".pyenv"}, "PYENV_ROOT"},
	{".rbenv/shims", {".rbenv"}, "RBENV_ROOT"},
	{".rbenv/bin", {".rbenv"}, "RBENV_ROOT"},
};

/* Which directories and options are advised for a program in the user's home directory. */
struct home_advice {
	const struct policy *policy;
	const char *home;
	struct buf dirs, options;
};

/* Writes HOME/BELOW as a shell word: "~/.cargo/bin" or, with special characters, the whole path in quotes. */
static void home_put_quoted_path(struct buf *out, const char *home, const char *below)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%";

	if (below[strspn(below, plain)] == '\0') {
		buf_printf(out, "~/%s", below);
		return;
	}
	buf_puts(out, "'");
	for (const char *at = home; *at; at++)
		buf_add(out, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
	buf_puts(out, "/");
	for (const char *at = below; *at; at++)
		buf_add(out, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
	buf_puts(out, "'");
}

static bool home_is_directory(const char *home, const char *below)
{
	_cleanup_free_ char *path = text_format("%s/%s", home, below);
	struct stat status;

	return path && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* True when the policy lets programs in this host directory be executed and does not redirect the directory. */
static bool home_directory_is_granted(const struct policy *policy, const char *real)
{
	char host[PATH_MAX];

	return policy_get_rights(policy, real, strlen(real)) & POLICY_EXEC &&
	       policy_map_to_host(policy, real, host) >= 0 && strcmp(host, real) == 0;
}

static bool home_has_program(const char *dir, const char *program)
{
	_cleanup_free_ char *path = text_format("%s/%s", dir, program);

	return path && program_is_executable(path);
}

/*
 * Returns the length of the part of `below` to grant. For a "bin" directory of nvm or sdkman that is the parent
 * directory, which also holds the libraries. For ~/bin, ~/.local/bin and the like it is the directory itself, because
 * the parent holds more than programs.
 */
static size_t home_get_len_of_part_to_grant(const char *below)
{
	const char *slash = strrchr(below, '/');

	if (!slash || strcmp(slash, "/bin") != 0 || !memchr(below, '/', (size_t)(slash - below)))
		return strlen(below); /* the whole path: ~/bin, ~/.local/bin, ~/.cargo/bin */
	return (size_t)(slash - below);
}

/* Adds the options for what the programs of a known directory need beside it, if it exists. */
static void home_put_known_directory(struct home_advice *advice, const struct home_program_directory *place)
{
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(place->more_dirs_to_grant) / sizeof(place->more_dirs_to_grant[0]) &&
			   place->more_dirs_to_grant[i];
	     i++) {
		if (!home_is_directory(advice->home, place->more_dirs_to_grant[i]))
			continue;
		first = first ? first : place->more_dirs_to_grant[i];
		buf_puts(&advice->options, " -x ");
		home_put_quoted_path(&advice->options, advice->home, place->more_dirs_to_grant[i]);
	}
	/* "$HOME" and not "~", which not every shell expands after "=" */
	if (first && place->env_variable)
		buf_printf(&advice->options, " -e %s=\"$HOME/%s\"", place->env_variable, first);
}

/* Adds the options that grant a directory of programs in the home directory, and what its programs need. */
static void home_put_grant_options(struct home_advice *advice, const char *below)
{
	_cleanup_free_ char *prefix = strndup(below, home_get_len_of_part_to_grant(below));
	const struct home_program_directory *known = NULL;

	for (size_t i = 0; i < sizeof(home_places) / sizeof(home_places[0]); i++)
		if (strcmp(home_places[i].bin, below) == 0)
			known = &home_places[i];
	if (!known || !path_is_below(below, known->more_dirs_to_grant[0])) {
		buf_puts(&advice->options, " -x ");
		home_put_quoted_path(&advice->options, advice->home, prefix ? prefix : below);
	}
	if (known)
		home_put_known_directory(advice, known);
}

/* Adds a directory of PATH to the advice. False: it is not in the home directory, lacks the program, or is granted. */
static bool home_add_directory(struct home_advice *advice, const char *dir, const char *program)
{
	_cleanup_free_ char *real = realpath(dir, NULL);
	const char *below = path_get_rest_below(dir, advice->home);

	if (!real || !below || !*below || (program && !home_has_program(dir, program)))
		return false;
	if (!program && home_directory_is_granted(advice->policy, real))
		return false;
	if (advice->dirs.len)
		buf_puts(&advice->dirs, ", ");
	home_put_quoted_path(&advice->dirs, advice->home, below);
	home_put_grant_options(advice, below);
	return true;
}

/*
 * Says how to allow programs of the user's PATH that are in the home directory. NULL: there is nothing to say, or no
 * memory.
 */
static char *home_make_advice_text(struct home_advice *advice, const char *program)
{
	_cleanup_buf_ struct buf text = {0};

	if (!advice->dirs.len || advice->dirs.failed || advice->options.failed)
		return NULL;
	if (program)
		buf_printf(&text, "your PATH has it in %s", advice->dirs.data);
	else
		buf_printf(&text, "programs in %s of your PATH are not in the run", advice->dirs.data);
	buf_printf(&text, "; to allow:%s -e PATH", advice->options.data);
	return buf_take_text(&text);
}

char *home_path_make_advice(const struct policy *policy, const char *path, const char *home, const char *program)
{
	struct home_advice advice = {.policy = policy, .home = home};
	_cleanup_free_ char *dirs_of_path = path ? strdup(path) : NULL;
	char *save = NULL;
	char *text;

	if (!dirs_of_path || !home || home[0] != '/' || !home[1])
		return NULL;
	for (char *dir = strtok_r(dirs_of_path, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		size_t len = strlen(dir);

		while (len > 1 && dir[len - 1] == '/')
			dir[--len] = '\0';
		if (home_add_directory(&advice, dir, program) && program)
			break;
	}
	text = home_make_advice_text(&advice, program);
	buf_release(&advice.dirs);
	buf_release(&advice.options);
	return text;
}
