#include "cli/why/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cli/host/host.h"
#include "policy/paths/explain.h"

/* The right that "PATH:w" asks for; *ret_len: length of PATH. A path that itself ends in ":r" needs another ":r". */
static unsigned why_split_path(const char *text, bool exec, size_t *ret_len)
{
	static const char letters[] = "rwx";
	size_t len = strlen(text);
	const char *colon = len > 2 ? text + len - 2 : "";
	const char *letter = *colon == ':' ? strchr(letters, colon[1]) : NULL;

	*ret_len = exec || !letter ? len : len - 2;
	return exec ? POLICY_EXEC : letter ? 1u << (letter - letters) : POLICY_READ;
}

/* Follows the host's symbolic links, and maps the resulting host path back into the view by the innermost mount. */
static void why_follow_host_links(const struct policy *policy, struct why_path_question *question)
{
	_cleanup_free_ char *real = NULL;
	const struct policy_mount *mounts;
	char host[PATH_MAX];
	size_t count;

	if (policy_map_to_host(policy, question->resolved_path, host) < 0)
		return;
	real = realpath(host, NULL);
	if (!real || strcmp(real, host) == 0)
		return;
	mounts = policy_get_mounts(policy, &count);
	for (size_t i = count; i-- > 0;) {
		const char *rest =
			mounts[i].kind == POLICY_MOUNT_TREE ? path_get_rest_below(real, mounts[i].host_path) : NULL;

		if (!rest)
			continue;
		(void)snprintf(question->resolved_path, PATH_MAX, "%s%s%s",
			       strcmp(mounts[i].virt, "/") == 0 ? "" : mounts[i].virt, *rest ? "/" : "",
			       rest); /* may be truncated if the mount's virtual path is longer than its host path */
		return;
	}
	(void)snprintf(question->resolved_path, PATH_MAX, "%s", real); /* outside the view: judged by the host path */
}

/*
 * Denies an object that only a "public" rule grants, if not everybody on the host may read it, as
 * open_object_if_public() in view/open.c does in a run.
 */
static void why_deny_unless_public(const struct policy *policy, struct why_path_question *question)
{
	char path[PATH_MAX];
	size_t granted =
		strlen(question->mount && question->host_path[0] ? question->mount->host_path : question->host_path);
	struct stat status;

	if (!question->host_path[0] || question->decision.verdict == VERDICT_DENY ||
	    !(policy_get_rights(policy, question->resolved_path, strlen(question->resolved_path)) & POLICY_PUBLIC))
		return;
	(void)snprintf(path, sizeof(path), "%s", question->host_path);
	for (mode_t needed = S_IROTH; strlen(path) > granted || needed == S_IROTH; needed = S_IXOTH) {
		if (lstat(path, &status) == 0 && !(status.st_mode & needed)) {
			question->decision.verdict = VERDICT_DENY;
			question->decision.error = EACCES;
			question->decision.reason = "not_public";
			return;
		}
		*strrchr(path, '/') = '\0';
		if (!*path)
			return;
	}
}

static mode_t why_get_host_file_type(void *ctx, const char *path)
{
	struct stat st;

	(void)ctx;
	return stat(path, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

int why_decide_path(const struct policy *policy, const char *text, bool exec, struct why_path_question *ret_question)
{
	struct why_path_question *question = ret_question;
	char path[PATH_MAX];
	bool lexical;
	size_t named;
	int len;

	*question = (struct why_path_question){.wanted_rights = why_split_path(text, exec, &named)};
	if (named >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, text, named);
	path[named] = '\0';
	len = path_join(policy_get_settings(policy)->workdir, path, question->asked_path, PATH_MAX, &lexical);
	if (len > 0)
		len = policy_follow_links(policy, question->asked_path, question->resolved_path);
	if (len < 0)
		return len;
	why_follow_host_links(policy, question);
	question->decision = policy_decide_access(policy, question->resolved_path, strlen(question->resolved_path),
						  question->wanted_rights);
	question->mount = policy_find_mount(policy, question->resolved_path);
	if (policy_map_to_host(policy, question->resolved_path, question->host_path) < 0)
		question->host_path[0] = '\0';
	why_deny_unless_public(policy, question);
	question->is_private_to_run = path_is_below(question->host_path, CLI_HOST_SCRATCH_OF_NO_RUN);
	if (question->is_private_to_run)
		question->host_path[0] = '\0';
	return 0;
}

char *why_suggest_grant(const struct policy *policy, const struct why_path_question *question, char **ret_why)
{
	const struct suggest_host host = {.home = policy_get_settings(policy)->home, .type = why_get_host_file_type};

	return policy_suggest_grant(&question->decision, &host, question->asked_path, question->wanted_rights, ret_why);
}
