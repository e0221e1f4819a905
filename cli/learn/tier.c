#include "cli/learn/tier.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "policy/paths/secrets.h"
#include "policy/paths/suggest.h"

/* Whether the secret belongs to the machine itself: no program of a user needs it. */
static bool tier_secret_is_of_machine(const struct secret_pattern *secret)
{
	static const char *const kinds[] = {"password hashes", "who may become root", "socket of a service",
					    "ssh host key",    "disk key"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(secret->kind, kinds[i]) == 0)
			return true;
	return false;
}

/*
 * Callback that gives the type of a file. Answers for each path that it is a file, so that the path is judged as it is,
 * not shortened to an existing directory.
 */
static mode_t tier_get_file_type(void *ctx, const char *path)
{
	(void)ctx;
	(void)path;
	return S_IFREG;
}

/* Returns the part of a path below the user's, root's or any other home directory. NULL: the path is in none. */
static const char *tier_get_rest_in_home(const char *home, const char *path)
{
	const char *rest = home && home[1] ? path_get_rest_below(path, home) : NULL, *slash;

	if (rest || (rest = path_get_rest_below(path, "/root")))
		return rest;
	rest = path_get_rest_below(path, "/home");
	slash = rest ? strchr(rest, '/') : NULL;
	return slash ? slash + 1 : NULL;
}

/* Whether other programs run the file or follow its settings later: writing it could lead out of the sandbox. */
static bool tier_others_run_or_obey_path(const char *home, const char *path)
{
	static const char *const in_home[] = {"bin", ".local/bin", ".local/lib", ".local/share/applications",
					      ".local/share/systemd", ".config/autostart", ".config/environment.d",
					      ".config/fish", ".config/git", ".config/nvim", ".config/systemd",
					      ".bashrc.d", ".emacs.d", ".vim", ".oh-my-zsh", ".zsh"};
	static const char *const elsewhere[] = {"/opt", "/var/spool/cron", "/var/spool/at"};
	const char *rest = tier_get_rest_in_home(home, path);

	if (rest && *rest == '.' && !strchr(rest, '/'))
		return true; /* .profile, .gitconfig and similar files */
	for (size_t i = 0; rest && i < sizeof(in_home) / sizeof(in_home[0]); i++)
		if (path_is_below(rest, in_home[i]))
			return true;
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (path_is_below(path, elsewhere[i]))
			return true;
	return strstr(path, "/.git/hooks/") || path_is_below(path, "/usr");
}

bool tier_is_private_file(const struct stat *status, unsigned right)
{
	if (status->st_uid == 0 || status->st_uid == geteuid())
		return false;
	return right == POLICY_WRITE || !(status->st_mode & S_IROTH);
}

enum tier tier_find(const char *home, const char *path, unsigned right, const char **ret_why)
{
	const struct suggest_host host = {.home = home, .type = tier_get_file_type};
	const struct secret_pattern *secret = secret_find_pattern(home, path);
	char copy[PATH_MAX];

	(void)snprintf(copy, sizeof(copy), "%s", path);
	*ret_why = suggest_shorten_path(&host, copy, right);
	if (!*ret_why && right == POLICY_WRITE && tier_others_run_or_obey_path(home, path)) {
		*ret_why = "other programs run it, or do what it says";
		return TIER_RISKY;
	}
	if (!*ret_why)
		return TIER_GRANTED;
	if (secret) {
		*ret_why = secret->kind;
		return tier_secret_is_of_machine(secret) ? TIER_NEVER_GRANTED : TIER_RISKY;
	}
	/* installed files may be read, but not written; a path with any other objection is never granted */
	(void)snprintf(copy, sizeof(copy), "%s", path);
	return right == POLICY_WRITE && !suggest_shorten_path(&host, copy, POLICY_READ) ? TIER_RISKY
											: TIER_NEVER_GRANTED;
}
