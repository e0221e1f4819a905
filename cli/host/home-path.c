#include "cli/host/home-path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/host/program.h"
#include "policy/paths/explain.h"

/* What programs in a directory of the home need besides it. */
static const struct home_place {
	const char *bin;      /* below the home directory */
	const char *more[3];  /* granted as well where it exists */
	const char *variable; /* set to the first of these; NULL: none */
} home_places[] = {
	{".cargo/bin", {".rustup"}, "RUSTUP_HOME"},
	{".local/bin", {".local/lib", ".local/share/pipx", ".local/share/uv"}, NULL},
	{".pyenv/shims", {".pyenv"}, "PYENV_ROOT"},
	{".pyenv/bin", {".pyenv"}, "PYENV_ROOT"},
	{".rbenv/shims", {".rbenv"}, "RBENV_ROOT"},
	{".rbenv/bin", {".rbenv"}, "RBENV_ROOT"},
};

struct home_advice {
	const struct policy *policy;
	const char *home;
	struct buf dirs, options;
};

/* As a word of the shell that means the path below the home directory: ~/.cargo/bin. A strange one is written whole. */
static void home_put_path(struct buf *out, const char *home, const char *below)
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
	_cleanup_free_ char *path = cli_format("%s/%s", home, below);
	struct stat status;

	return path && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* True when programs of this host directory may be executed by its own name: what is redirected is another one. */
static bool home_is_granted(const struct policy *policy, const char *real)
{
	char host[PATH_MAX];

	return policy_get_rights(policy, real, strlen(real)) & POLICY_EXEC &&
	       policy_map_to_host(policy, real, host) >= 0 && strcmp(host, real) == 0;
}

static bool home_has_program(const char *dir, const char *program)
{
	_cleanup_free_ char *path = cli_format("%s/%s", dir, program);

	return path && program_is_file(path);
}

/*
 * The installation that a "bin" belongs to: the version of nvm or sdkman has its libraries beside it. Not what holds
 * more than that: the home directory, .local.
 */
static size_t home_prefix_len(const char *below)
{
	const char *slash = strrchr(below, '/');

	if (!slash || strcmp(slash, "/bin") != 0 || !memchr(below, '/', (size_t)(slash - below)))
		return strlen(below); /* ~/bin, ~/.local/bin, ~/.cargo/bin */
	return (size_t)(slash - below);
}

static void home_put_known(struct home_advice *advice, const struct home_place *place)
{
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(place->more) / sizeof(place->more[0]) && place->more[i]; i++) {
		if (!home_is_directory(advice->home, place->more[i]))
			continue;
		first = first ? first : place->more[i];
		buf_puts(&advice->options, " -x ");
		home_put_path(&advice->options, advice->home, place->more[i]);
	}
	if (first && place->variable) /* not every shell expands "~" after "=" */
		buf_printf(&advice->options, " -e %s=\"$HOME/%s\"", place->variable, first);
}

static void home_put_options(struct home_advice *advice, const char *below)
{
	_cleanup_free_ char *prefix = strndup(below, home_prefix_len(below));
	const struct home_place *known = NULL;

	for (size_t i = 0; i < sizeof(home_places) / sizeof(home_places[0]); i++)
		if (strcmp(home_places[i].bin, below) == 0)
			known = &home_places[i];
	if (!known || !path_is_below(below, known->more[0])) {
		buf_puts(&advice->options, " -x ");
		home_put_path(&advice->options, advice->home, prefix ? prefix : below);
	}
	if (known)
		home_put_known(advice, known);
}

/* One directory of PATH. False: it is of no interest, or the program is not there. */
static bool home_take_directory(struct home_advice *advice, const char *dir, const char *program)
{
	_cleanup_free_ char *real = realpath(dir, NULL);
	const char *below = path_rest_below(dir, advice->home);

	if (!real || !below || !*below || (program && !home_has_program(dir, program)))
		return false;
	if (!program && home_is_granted(advice->policy, real))
		return false;
	if (advice->dirs.len)
		buf_puts(&advice->dirs, ", ");
	home_put_path(&advice->dirs, advice->home, below);
	home_put_options(advice, below);
	return true;
}

static char *home_end_advice(struct home_advice *advice, const char *program)
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

char *home_path_advice(const struct policy *policy, const char *path, const char *home, const char *program)
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
		if (home_take_directory(&advice, dir, program) && program)
			break;
	}
	text = home_end_advice(&advice, program);
	buf_release(&advice.dirs);
	buf_release(&advice.options);
	return text;
}
