/*
 * Makes the source that turns a policy into an observing one: it grants everything that the user may do, and denies
 * secrets and the paths that the caller hides. Deny rules of other sources only apply in the judged policy (rules.c).
 */
#include "policy/parse/source.h"
#include "policy/paths/secrets.h"

/* Adds a rule to the policy that observes. */
static void observe_add_rule(struct arena *arena, struct policy_source *source, enum rule_kind kind, const char *key,
			     const char *path)
{
	struct source_rule *rule = source_add_rule(arena, source, kind);

	rule->key = key;
	rule->path = (struct source_text){path, "--mode observe"};
}

/* Denies, in the policy that observes, what matches the pattern below the directory. */
static void observe_deny_below(struct arena *arena, struct policy_source *source, const char *dir, const char *pattern)
{
	observe_add_rule(arena, source, RULE_DENY, "secret", arena_concat_texts(arena, dir, pattern, (char *)NULL));
}

/* Adds deny rules for a pattern of secrets. home: "~" is known. */
static void observe_deny_secret(struct arena *arena, struct policy_source *source, const char *pattern, bool home)
{
	if (pattern[0] == '/') {
		observe_deny_below(arena, source, "", pattern);
	} else if (pattern[0] == '~') {
		observe_deny_below(arena, source, "/root", pattern + 1);
		observe_deny_below(arena, source, "/home/*", pattern + 1);
		if (home)
			observe_deny_below(arena, source, "", pattern);
	} else {
		observe_deny_below(arena, source, "**/", pattern);
		/* For a name in the home directory a rule without globs is added: it also denies a link's target. */
		if (home)
			observe_deny_below(arena, source, "~/", pattern);
	}
}

struct policy_source *source_make_for_observing(struct arena *arena, const struct policy_observe *observe, bool home)
{
	struct policy_source *source = arena_alloc(arena, sizeof(*source));
	size_t count;
	const struct secret_pattern *secret = secrets_get_patterns(&count);

	source->path = source->label = "observe";
	source->is_observing = true;
	observe_add_rule(arena, source, RULE_WRITE, "all", "/");
	observe_add_rule(arena, source, RULE_EXEC, "all", "/");
	observe_add_rule(arena, source, RULE_WRITE, "workdir", "@workdir");
	observe_add_rule(arena, source, RULE_EXEC, "workdir", "@workdir");
	for (const char *const *hidden = observe->hidden_paths; hidden && *hidden; hidden++)
		observe_add_rule(arena, source, RULE_DENY, "hidden", *hidden);
	for (size_t i = 0; i < count && !observe->may_read_secrets; i++)
		if (secret[i].certainty == SECRET_CERTAIN)
			observe_deny_secret(arena, source, secret[i].pattern, home);
	if (observe->reaches_public_endpoints)
		source->network.said = NET_SECTION_GIVEN;
	return source;
}
