#include "policy/paths/suggest.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/path.h"
#include "policy/paths/secrets.h"
#include "policy/policy.h"

#define SUGGEST_REASON_SYSTEM_DIR "a directory of the whole system; name the file or a directory below it"
#define SUGGEST_REASON_WHOLE_HOME "it would grant much of a home directory; name the file or a directory below it"
#define SUGGEST_REASON_SECRETS "it is where secrets are kept; if the program must have it, grant it by hand"

/* Whether the text is an entry of the NULL-terminated list. */
static bool suggest_text_is_listed(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(text, *list) == 0)
			return true;
	return false;
}

/* Whether the path is an entry of the NULL-terminated list, or below one. */
static bool suggest_path_is_below_listed(const char *path, const char *const *list)
{
	for (; *list; list++)
		if (path_is_below(path, *list))
			return true;
	return false;
}

/* Whether the path is that of a secret. Below /usr only patterns that are certain count. */
static bool suggest_path_is_secret(const struct suggest_host *host, const char *path)
{
	const struct secret_pattern *secret = secret_find_pattern(host->home, path);

	/* What is installed in /usr is public, whatever its name. */
	return secret && (secret->certainty == SECRET_CERTAIN || !path_is_below(path, "/usr"));
}

/* Whether the path is a home directory, or one such as .config in it, which is too much to be granted as a whole. */
static bool suggest_path_is_home(const struct suggest_host *host, const char *path)
{
	static const char *const much[] = {"", ".config", ".cache", ".local", ".local/share", ".local/state", NULL};
	const char *name = path_get_rest_below(path, "/home"), *slash = name ? strchr(name, '/') : NULL;
	const char *rest = host->home && strcmp(host->home, "/") != 0 ? path_get_rest_below(path, host->home) : NULL;

	if (!rest)
		rest = path_get_rest_below(path, "/root");
	if (rest && suggest_text_is_listed(rest, much))
		return true;
	return name && (!slash || suggest_text_is_listed(slash + 1, much));
}

/* Returns why a path must not be suggested; NULL: it may be. */
static const char *suggest_get_reason_against_path(const struct suggest_host *host, const char *path, unsigned want)
{
	static const char *const whole[] = {"/etc", "/run", "/var", "/var/run", "/var/lib", "/var/log", "/proc", "/sys",
					    "/dev", "/home", "/boot", "/mnt", "/media", "/tmp", "/var/tmp", "/usr",
					    "/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/sbin", NULL};
	static const char *const machine[] = {"/proc", "/dev", NULL};
	static const char *const installed[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot", "/etc",
						"/run", "/var/run", "/sys", "/var/lib", NULL};

	if (strcmp(path, "/") == 0)
		return "it would grant the whole file system; name the file or a directory";
	if (suggest_path_is_home(host, path))
		return SUGGEST_REASON_WHOLE_HOME;
	if (suggest_text_is_listed(path, whole))
		return SUGGEST_REASON_SYSTEM_DIR;
	if (suggest_path_is_below_listed(path, machine))
		return "it belongs to the machine: a run has a /proc and a /dev of its own";
	if (suggest_path_is_secret(host, path) || strcmp(path, "/etc/ssl") == 0)
		return SUGGEST_REASON_SECRETS;
	if (want & POLICY_WRITE && suggest_path_is_below_listed(path, installed))
		return "it belongs to the system, which a run should not change; redirect it, or grant it by hand";
	return NULL;
}

const char *suggest_shorten_path(const struct suggest_host *host, char *path, unsigned want)
{
	mode_t type = host->type(host->ctx, path);
	bool missing = type == 0;
	const char *refusal;
	char *slash;

	if (want & POLICY_EXEC && (type == 0 || type == S_IFDIR))
		return type == 0 ? "there is no such file" : "it is a directory, not a program";
	/* A secret that does not exist: neither it nor its parent may be suggested. */
	if (type == 0 && suggest_path_is_secret(host, path))
		return SUGGEST_REASON_SECRETS;
	while (type == 0 && (slash = strrchr(path, '/'))) {
		slash[slash == path] = '\0';
		if (slash == path)
			break;
		type = host->type(host->ctx, path);
	}
	refusal = suggest_get_reason_against_path(host, path, want);
	return refusal && missing ? "there is no such path, and what is above it is too much to grant" : refusal;
}

void suggest_put_shell_word(struct buf *buf, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=@%,:";
	size_t len = strlen(word);

	if (strspn(word, plain) >= len) {
		buf_add(buf, word, len);
		return;
	}
	buf_puts(buf, "'");
	for (size_t i = 0; i < len; i++) {
		if (word[i] == '\'')
			buf_puts(buf, "'\\''");
		else
			buf_add(buf, &word[i], 1);
	}
	buf_puts(buf, "'");
}
