#include "cli/learn/tier.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "policy/paths/secrets.h"
#include "policy/paths/suggest.h"

/* Secrets that are the machine's own: no program of a user has business with them. */
static bool tier_is_of_machine(const struct secret_pattern *secret)
{
	static const char *const kinds[] = {"password hashes", "who may become root", "socket of a service",
					    "ssh host key",    "disk key"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(secret->kind, kinds[i]) == 0)
			return true;
	return false;
}

/* The path is granted as it is: it is never cut down to what exists. */
static mode_t tier_get_type(void *ctx, const char *path)
{
	(void)ctx;
	(void)path;
	return S_IFREG;
}

enum tier tier_find(const char *home, const char *path, unsigned right, const char **ret_why)
{
	const struct suggest_host host = {.home = home, .type = tier_get_type};
	const struct secret_pattern *secret = secret_find_pattern(home, path);
	char copy[PATH_MAX];

	(void)snprintf(copy, sizeof(copy), "%s", path);
	*ret_why = suggest_shorten_path(&host, copy, right);
	if (!*ret_why)
		return TIER_GRANTED;
	if (secret) {
		*ret_why = secret->kind;
		return tier_is_of_machine(secret) ? TIER_NEVER : TIER_RISKY;
	}
	/* What is installed may be read, but writing it is refused. All else that is refused is too much. */
	(void)snprintf(copy, sizeof(copy), "%s", path);
	return right == POLICY_WRITE && !suggest_shorten_path(&host, copy, POLICY_READ) ? TIER_RISKY : TIER_NEVER;
}
