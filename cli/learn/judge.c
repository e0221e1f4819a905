/* Judges needs by the draft of the policy, with the functions that a run and `callgate why` use. */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/learn/learn.h"
#include "policy/paths/secrets.h"

#define LEARN_COUNTED_FILES_MAX 3000000u /* most files that are counted for one policy */

/* A policy that was loaded as for a run. */
struct need_judge {
	struct cli_policy_options options; /* borrows its workdir */
	struct cli_host host;
	struct policy *policy;
	struct query_judge *query_judge;
	struct query current_query; /* the question that is asked now */
};

static void need_judge_free(struct need_judge *judge)
{
	if (!judge)
		return;
	query_judge_free(judge->query_judge);
	policy_free(judge->policy);
	cli_host_release(&judge->host);
	judge->options.workdir = NULL;
	cli_policy_options_release(&judge->options);
	free(judge);
}

static void need_judge_freep(struct need_judge **judge)
{
	need_judge_free(*judge);
}
#define _cleanup_judge_ __attribute__((cleanup(need_judge_freep)))

/* Loads the draft, or `profile` instead if that is not NULL. 0 or -errno, with a message. */
static int need_judge_load_policy(const struct learn *learn, const char *profile, struct need_judge **ret_judge)
{
	_cleanup_judge_ struct need_judge *judge = calloc(1, sizeof(*judge));
	int r;

	if (!judge ||
	    cli_list_add_owned(&judge->options.policy_names, strdup(profile ? profile : learn->draft_path)) < 0)
		return cli_fail_no_memory("learn"), -ENOMEM;
	judge->options.workdir = learn->workdir;
	judge->options.workdir_as_written = learn->workdir_named;
	r = profile ? 0 : draft_write(&learn->draft, learn->draft_path, false);
	if (r < 0)
		cli_print_error("learn", "cannot write %s: %s", learn->draft_path, strerror(-r));
	else if (cli_load_policy_without_run(&judge->options, "learn",
					     learn->program ? learn->program[0] : learn->fixed, &judge->host,
					     &judge->policy) != CLI_EXIT_OK)
		r = -EINVAL;
	if (r == 0)
		r = query_judge_create(judge->policy, &judge->query_judge);
	if (r == 0)
		*ret_judge = steal_pointer(&judge);
	return r;
}

/*
 * True when the policy denies this right. link: judges the symbolic link, too, through which the program reached the
 * file.
 */
static bool judge_denies_need(struct need_judge *judge, const struct need *need, unsigned right, bool link)
{
	struct query *query = &judge->current_query;
	struct query_answer answer;

	query->kind = QUERY_PATHS;
	query->was_allowed = true;
	query->path_count = 1;
	query->paths[0].wanted_rights = right;
	query->paths[0].len = strlen(need->path);
	memcpy(query->paths[0].canonical_path, need->path, query->paths[0].len + 1);
	query->paths[0].path_as_written_len = link && need->path_as_written ? strlen(need->path_as_written) : 0;
	if (query->paths[0].path_as_written_len)
		memcpy(query->paths[0].path_as_written, need->path_as_written, query->paths[0].path_as_written_len + 1);
	query_judge(judge->query_judge, query, &answer);
	/* An uncertain answer means that only a "public" rule grants the file, so it gets a rule of its own. */
	return !answer.is_certain || !answer.is_allowed;
}

/* Appends to the list, which *room elements fit into. 0 or -ENOMEM. */
static int judge_add_unmet(struct unmet_need **list, size_t *count, size_t *room, struct unmet_need unmet)
{
	if (!array_reserve(list, *count, room))
		return -ENOMEM;
	(*list)[(*count)++] = unmet;
	return 0;
}

/*
 * Whether the file is made by callgate for each run: a file of /proc or /dev. The policy does not decide about such
 * files.
 */
static bool judge_path_is_made_by_callgate(const char *path)
{
	return path_is_below(path, "/proc") || strcmp(path, "/dev") == 0;
}

/* Adds each right of a need that the policy denies, or the link of its path as written. 0 or -errno. */
static int judge_need(struct need_judge *judge, const struct need *need, struct unmet_need **list, size_t *count,
		      size_t *room)
{
	static const unsigned rights[] = {POLICY_READ, POLICY_WRITE, POLICY_EXEC};
	bool denied = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(rights) / sizeof(rights[0]); i++) {
		/* the rights to write and execute include reading, so reading is judged only if it is the only right */
		if (!(need->rights & rights[i]) ||
		    (rights[i] == POLICY_READ && need->rights & (POLICY_WRITE | POLICY_EXEC)))
			continue;
		if (!judge_denies_need(judge, need, rights[i], false))
			continue;
		denied = true;
		r = judge_add_unmet(list, count, room, (struct unmet_need){.need = need, .right = rights[i]});
	}
	if (r == 0 && !denied && need->path_as_written && !judge_path_is_made_by_callgate(need->path_as_written) &&
	    judge_denies_need(judge, need, POLICY_READ, true))
		r = judge_add_unmet(list, count, room,
				    (struct unmet_need){.need = need, .right = POLICY_READ, .is_link_itself = true});
	return r;
}

/* Lists what the profile's policy denies of all that the program used. *ret_unmet is owned. 0 or -errno. */
static int judge_all_needs(const struct learn *learn, const char *profile, struct unmet_need **ret_unmet,
			   size_t *ret_count)
{
	_cleanup_judge_ struct need_judge *judge = NULL;
	int r = need_judge_load_policy(learn, profile, &judge);
	size_t room = 0;

	*ret_unmet = NULL;
	*ret_count = 0;
	for (size_t i = 0; r == 0 && i < learn->needs.count; i++)
		if (!judge_path_is_made_by_callgate(learn->needs.need[i].path))
			r = judge_need(judge, &learn->needs.need[i], ret_unmet, ret_count, &room);
	return r;
}

int learn_find_unmet_needs(struct learn *learn, struct unmet_need **ret_unmet, size_t *ret_count)
{
	return judge_all_needs(learn, NULL, ret_unmet, ret_count);
}

/* Whether the policy that is judged certainly allows this use of the network. */
static bool judge_grants_network_need(struct need_judge *judge, const struct network_need *net)
{
	struct query *query = &judge->current_query;
	struct query_answer answer;

	query->kind = net->kind;
	query->was_allowed = true;
	query->path_count = 0;
	query->port_number = net->port;
	query->uses_udp = net->uses_udp;
	query->upgrade = net->upgrade;
	query->any_port = net->any_port;
	(void)snprintf(query->host_name, sizeof(query->host_name), "%s", net->host);
	(void)snprintf(query->http_method, sizeof(query->http_method), "%s", net->method);
	(void)snprintf(query->request_path, sizeof(query->request_path), "%s", net->request);
	query_judge(judge->query_judge, query, &answer);
	return answer.is_certain && answer.is_allowed;
}

int learn_mark_granted_endpoints(struct learn *learn)
{
	_cleanup_judge_ struct need_judge *judge = NULL;
	int r = learn->needs.nets ? need_judge_load_policy(learn, NULL, &judge) : 0;

	for (size_t i = 0; r == 0 && i < learn->needs.nets; i++)
		learn->needs.net[i].is_granted = judge_grants_network_need(judge, &learn->needs.net[i]);
	return r;
}

int learn_count_unmet_needs(struct learn *learn, const char *profile, size_t *ret_count)
{
	struct unmet_need *unmet;
	int r = judge_all_needs(learn, profile, &unmet, ret_count);

	free(unmet);
	return r;
}

/* ---- secrets that the draft grants by mistake ---- */

/*
 * Makes an absolute path of a secret's pattern, below the home directory. False: the pattern has "*", or applies to any
 * directory.
 */
static bool judge_make_secret_path(const char *pattern, const char *home, char ret_path[PATH_MAX])
{
	size_t at = 0;

	if (pattern[0] != '/' && (pattern[0] != '~' || !home))
		return false;
	if (pattern[0] == '~')
		at = (size_t)snprintf(ret_path, PATH_MAX / 2, "%s", home);
	for (pattern += pattern[0] == '~'; *pattern && at < PATH_MAX - 1; pattern++)
		ret_path[at++] = *pattern == '*' ? 'x' : *pattern;
	ret_path[at] = '\0';
	return true;
}

/* Whether the policy that is judged lets the program read the path. */
static bool judge_grants_reading(const struct need_judge *judge, const char *path)
{
	return policy_get_rights(judge->policy, path, strlen(path)) & POLICY_READ;
}

int learn_deny_secrets(struct learn *learn)
{
	_cleanup_judge_ struct need_judge *judge = NULL;
	int r = need_judge_load_policy(learn, NULL, &judge);
	size_t count;
	const struct secret_pattern *secret = secrets_get_patterns(&count);
	char path[PATH_MAX];

	for (size_t i = 0; r == 0 && i < count; i++) {
		_cleanup_free_ char *because = NULL;

		if (secret[i].certainty != SECRET_CERTAIN ||
		    !judge_make_secret_path(secret[i].pattern, learn->home, path) ||
		    path_is_below(path, learn->workdir_in_view) || !judge_grants_reading(judge, path) ||
		    (learn->allow_risky && needs_have_path_below(&learn->needs, path)))
			continue;
		because = text_format("%s, which another rule would grant", secret[i].kind);
		r = because ? draft_add_deny_rule(&learn->draft, secret[i].pattern, because) : -ENOMEM;
	}
	return r;
}

/* ---- counting the files that a policy grants ---- */

/* Counts the files of a mount that the policy lets the program read, up to a limit, and not on other file systems. */
static void judge_count_files_of_mount(const struct need_judge *judge, const struct policy_mount *mount,
				       uint64_t *granted)
{
	char *const paths[] = {(char *)(uintptr_t)mount->host_path, NULL};
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV | FTS_NOSTAT, NULL);
	char virt[PATH_MAX];
	FTSENT *entry;

	while (walk && *granted < LEARN_COUNTED_FILES_MAX && (entry = fts_read(walk))) {
		const char *rest = path_get_rest_below(entry->fts_path, mount->host_path);
		int len;

		if (!rest || entry->fts_info == FTS_DP)
			continue;
		len = snprintf(virt, sizeof(virt), "%s%s%s", mount->virt, *rest ? "/" : "", rest);
		if (len < 0 || (size_t)len >= sizeof(virt))
			continue;
		if (entry->fts_info == FTS_D && !policy_may_grant_below(judge->policy, virt, (size_t)len))
			(void)fts_set(walk, entry, FTS_SKIP);
		else if (entry->fts_info != FTS_D)
			*granted += !!(policy_get_rights(judge->policy, virt, (size_t)len) & POLICY_READ);
	}
	if (walk)
		(void)fts_close(walk);
}

/* Counts the files that the policy lets the program read, without those of redirects and of the working directory. */
static void judge_count_files(const struct need_judge *judge, uint64_t *granted)
{
	size_t count;
	const struct policy_mount *mount = policy_get_mounts(judge->policy, &count);

	for (size_t i = 0; i < count; i++)
		/* the working directory and redirected paths are the program's own, and are not counted */
		if (mount[i].kind == POLICY_MOUNT_TREE && !mount[i].creates_host_path && !mount[i].is_redirect)
			judge_count_files_of_mount(judge, &mount[i], granted);
}

int learn_count_files(struct learn *learn, struct learn_file_counts *ret_files)
{
	_cleanup_judge_ struct need_judge *judge = NULL, *base = NULL;
	int r = need_judge_load_policy(learn, NULL, &judge);

	*ret_files = (struct learn_file_counts){0};
	if (r == 0 && learn->base_profile)
		r = need_judge_load_policy(learn, learn->base_profile, &base);
	if (r < 0 || !judge)
		return r;
	judge_count_files(judge, &ret_files->granted_file_count);
	if (base)
		judge_count_files(base, &ret_files->granted_by_profile);
	for (size_t i = 0; i < learn->needs.count; i++) {
		const char *path = learn->needs.need[i].path;
		struct stat status;

		if (!path_is_below(path, learn->workdir_in_view) && lstat(path, &status) == 0 &&
		    !S_ISDIR(status.st_mode))
			ret_files->used_file_count +=
				!!(policy_get_rights(judge->policy, path, strlen(path)) & POLICY_READ);
	}
	return 0;
}
