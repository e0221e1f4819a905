/* Rules that deny the secrets in the working directory, which is granted as a whole. */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/learn/fold.h"
#include "policy/paths/literal.h"
#include "policy/paths/secrets.h"

/* most entries of the workdir that are searched for secrets to deny */
#define DENY_SCANNED_WORKDIR_ENTRIES_MAX 200000u

/*
 * Returns the kind of secret that the entry holds, for messages. *ret_everywhere: the pattern that matched, if that
 * pattern marks a name as secret in any directory, else NULL. Static; NULL: no secret.
 */
static const char *deny_find_secret_kind(const struct fold_context *context, const FTSENT *entry,
					 const char **ret_everywhere)
{
	const struct secret_pattern *secret = secret_find_pattern(context->home, entry->fts_path);

	*ret_everywhere = NULL;
	if (!secret || secret->certainty != SECRET_CERTAIN)
		return entry->fts_info == FTS_F ? secret_inodes_get_kind(context->inodes, entry->fts_statp) : NULL;
	if (!strchr("/~", secret->pattern[0]) && !context->allows_risky)
		*ret_everywhere = secret->pattern;
	return secret->kind;
}

/*
 * Replaces what a rule cannot write, "*" and bytes that are not UTF-8, by one "*" each time: the rule denies more, but
 * not less. Owned by the caller; NULL: no memory.
 */
static char *deny_widen_path(const char *path)
{
	_cleanup_buf_ struct buf out = {0};
	size_t left = strlen(path), bad, size;
	uint32_t point;

	for (; left > 0; path += size, left -= size) {
		size = text_decode_utf8(path, left, &point, &bad);
		if (size > 0 && *path != '*')
			buf_add(&out, path, size);
		else if (!out.len || out.data[out.len - 1] != '*')
			buf_puts(&out, "*");
		if (size == 0)
			size = bad;
	}
	return buf_take_text(&out);
}

/*
 * Adds a deny rule for an entry of the working directory that is a secret. With --allow-risky, not if the program used
 * it.
 */
static int deny_if_secret_entry(struct draft *draft, const struct needs *needs, const struct fold_context *context,
		      const FTSENT *entry, const char *rest)
{
	const char *everywhere, *kind = deny_find_secret_kind(context, entry, &everywhere);
	_cleanup_free_ char *virt = NULL, *pattern = NULL, *because = NULL, *wide = NULL;

	if (!kind)
		return 0;
	virt = text_format("%s/%s", context->workdir_in_view, rest);
	wide = deny_widen_path(rest);
	if (!virt || !wide)
		return -ENOMEM;
	pattern = everywhere ? text_format("**/%s", everywhere) : literal_write("@workdir", wide);
	because = text_format("%s: %s%s", wide, kind, context->allows_risky ? ", which the program did not use" : "");
	if (!pattern || !because)
		return -ENOMEM;
	if (context->allows_risky && needs_have_path_below(needs, virt))
		return 0;
	return draft_add_deny_rule(draft, pattern, because);
}

int fold_deny_secrets(struct draft *draft, const struct needs *needs, const struct fold_context *context)
{
	char *const paths[] = {(char *)(uintptr_t)context->workdir_host_path, NULL};
	FTS *walk = context->workdir_host_path ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	const FTSENT *entry;
	size_t entries = 0;
	int r = 0;

	while (walk && r == 0 && entries++ < DENY_SCANNED_WORKDIR_ENTRIES_MAX && (entry = fts_read(walk))) {
		const char *rest = path_get_rest_below(entry->fts_path, context->workdir_host_path);

		if (rest && *rest && entry->fts_info != FTS_DP)
			r = deny_if_secret_entry(draft, needs, context, entry, rest);
	}
	if (walk)
		(void)fts_close(walk);
	return r;
}
