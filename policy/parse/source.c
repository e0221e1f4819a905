/* Builds and checks sources, and makes a source of the command line. */
#include <errno.h>
#include <string.h>

#include "policy/parse/source.h"

struct source_rule *source_add_rule(struct arena *arena, struct policy_source *source, enum rule_kind kind)
{
	ARENA_APPEND(arena, source->rule, source->rule_count, (struct source_rule){.kind = kind});
	return &source->rule[source->rule_count - 1];
}

struct source_env_variable *source_add_env(struct arena *arena, struct policy_source *source)
{
	ARENA_APPEND(arena, source->env, source->env_count, (struct source_env_variable){.is_expanded = false});
	return &source->env[source->env_count - 1];
}

enum policy_on_deny source_find_on_deny(struct policy_source *const *sources, size_t count)
{
	enum policy_on_deny mode = ON_DENY_ERRNO;

	for (size_t i = 0; i < count; i++)
		mode = sources[i]->on_deny ? sources[i]->on_deny : mode;
	return mode;
}

enum policy_on_deny source_find_on_deny_of_denies(const struct policy_source *source, enum policy_on_deny of_policy)
{
	const enum policy_on_deny mode = source->on_deny_so_far ? source->on_deny_so_far : ON_DENY_ERRNO;

	return policy_on_deny_asks(of_policy) && !policy_on_deny_asks(mode) ? mode : ON_DENY_UNSET;
}

const char *source_find_env_name_error(const char *name, bool pass)
{
	const char *star = strchr(name, '*');

	if (!*name)
		return "needs a name";
	if (strchr(name, '='))
		return "a variable's name has no \"=\"; write the value in env.set (or -e NAME=VALUE)";
	if (star && !pass)
		return "a variable with a value has no \"*\" in its name";
	if (star && (star[1] || star == name))
		return "\"*\" is for the end of a name only, as in LC_*; list other names one by one";
	return NULL;
}

/* Adds the paths of the option -r, -W or -x. False with a message. */
static bool source_add_grants(struct arena *arena, struct policy_source *source, enum rule_kind kind,
			      const char *option, const char *const *paths, struct policy_errors *errors)
{
	bool good = true;

	for (; paths && *paths; paths++) {
		struct source_rule *rule;

		if (!**paths) {
			policy_errors_add(errors, "command line: %s: must not be empty; write a path", option);
			good = false;
			continue;
		}
		rule = source_add_rule(arena, source, kind);
		rule->key = option;
		rule->path.text = arena_dup(arena, *paths);
		rule->path.source_location = arena_concat_texts(arena, "command line: ", option, (char *)NULL);
	}
	return good;
}

/* Adds a variable from NAME or NAME=VALUE. The last value of a name wins. False with a message. */
static bool source_add_cli_env(struct arena *arena, struct policy_source *source, const char *text,
			       struct policy_errors *errors)
{
	const char *equals = strchr(text, '=');
	char *name = arena_dupn(arena, text, equals ? (size_t)(equals - text) : strlen(text));
	const char *wrong = source_find_env_name_error(name, !equals);
	struct source_env_variable *env;

	if (wrong) {
		policy_errors_add(errors, "command line: -e %s: %s", text, wrong);
		return false;
	}
	env = source_add_env(arena, source);
	env->name = (struct source_text){name, "command line: -e"};
	env->is_expanded = true;
	if (equals)
		env->value = (struct source_text){arena_dup(arena, equals + 1), "command line: -e"};
	return true;
}

bool source_make_from_cli(struct arena *arena, const struct policy_cli *cli, struct policy_errors *errors,
		     struct policy_source **ret_source)
{
	struct policy_source *source = arena_alloc(arena, sizeof(*source));
	bool good = source_add_grants(arena, source, RULE_READ, "-r", cli->read, errors);

	source->path = source->label = "command line";
	good = source_add_grants(arena, source, RULE_WRITE, "-W", cli->write, errors) && good;
	good = source_add_grants(arena, source, RULE_EXEC, "-x", cli->exec, errors) && good;
	for (const char *const *env = cli->env; env && *env; env++)
		good = source_add_cli_env(arena, source, *env, errors) && good;
	good = source_add_network_from_cli(arena, cli, errors, source) == 0 && good;
	source->limits = cli->limits;
	source->given_limits_mask = cli->given_limits_mask;
	source->required_layers = cli->required_layers;
	source->user = cli->user;
	source->judge = cli->judge;
	source->judge_source_location = "command line: --judge";
	source->workspace = cli->workspace;
	for (const char *const *path = cli->workspace_dirs; path && *path; path++)
		ARENA_APPEND(arena, source->workspace_dir, source->workspace_dir_count,
			     ((struct source_text){arena_dup(arena, *path), "command line: --cow-dir"}));
	*ret_source = source;
	return good;
}

const char *policy_find_user_error(const char *text)
{
	const char *colon = strchr(text, ':');

	if (text[strcspn(text, "\n")] || strlen(text) > 256)
		return "is not a user";
	if (!*text || colon == text)
		return "names no user";
	if (!colon)
		return NULL;
	if (strchr(colon + 1, ':'))
		return "has more than one colon";
	return colon[1] ? NULL : "names no group behind the colon";
}

/* True when two paths are equal, apart from redundant slashes. */
static bool source_paths_are_equal(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (a[0] == '/' && (a[1] == '/' || !a[1]))
			a++;
		while (b[0] == '/' && (b[1] == '/' || !b[1]))
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

#define RULE_BIT(kind) (1u << (kind))
#define GRANTING_RULE_KINDS (RULE_BIT(RULE_READ) | RULE_BIT(RULE_WRITE) | RULE_BIT(RULE_EXEC) | RULE_BIT(RULE_PUBLIC))
#define SUBSTITUTING_RULE_KINDS (RULE_BIT(RULE_REDIRECT) | RULE_BIT(RULE_PROVIDE) | RULE_BIT(RULE_DECOY))

/* Returns why one file may not have rules of both kinds for the same path; NULL: it may. */
static const char *source_find_contradiction(enum rule_kind a, enum rule_kind b)
{
	unsigned both = RULE_BIT(a) | RULE_BIT(b);

	if (both & RULE_BIT(RULE_DENY) && both & (GRANTING_RULE_KINDS | SUBSTITUTING_RULE_KINDS))
		return "is denied as well, and a deny beats everything";
	if (both == (RULE_BIT(RULE_PUBLIC) | RULE_BIT(RULE_PRIVATE)))
		return "is private as well";
	if (RULE_BIT(a) & SUBSTITUTING_RULE_KINDS && RULE_BIT(b) & SUBSTITUTING_RULE_KINDS)
		return "is redirected or provided twice";
	if (both & RULE_BIT(RULE_REDIRECT) && both & (RULE_BIT(RULE_READ) | RULE_BIT(RULE_WRITE)))
		return "is redirected, which already lets it be read and written there";
	if (both & (RULE_BIT(RULE_PROVIDE) | RULE_BIT(RULE_DECOY)) && both & GRANTING_RULE_KINDS)
		return "is provided by the policy, so the host's file is not there";
	return NULL;
}

/* Adds an error for each pair of rules that contradict each other about one path, and leaves the later one out. */
static bool source_check_rules(struct policy_source *source, struct policy_errors *errors)
{
	bool good = true;

	for (size_t i = 0; i < source->rule_count; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct source_rule *a = &source->rule[j];
			struct source_rule *b = &source->rule[i];
			const char *what = source_find_contradiction(a->kind, b->kind);

			if (!what || !source_paths_are_equal(a->path.text, b->path.text))
				continue;
			policy_errors_add(errors, "%s: %s %s (%s); keep one of the two rules", b->path.source_location,
					  b->path.text, what, a->key);
			b->is_excluded_from_policy = true;
			good = false;
		}
	}
	return good;
}

/* Adds an error for each variable that "env" both passes on and sets. Returns false if there is one. */
static bool source_check_env(const struct policy_source *source, struct policy_errors *errors)
{
	bool good = true;

	for (size_t i = 0; i < source->env_count; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct source_env_variable *a = &source->env[j], *b = &source->env[i];

			if (!a->value.text == !b->value.text || strcmp(a->name.text, b->name.text) != 0)
				continue;
			policy_errors_add(errors, "%s: %s is passed and set; keep one of the two",
					  b->name.source_location, b->name.text);
			good = false;
		}
	}
	return good;
}

bool source_check_contradictions(struct policy_source *source, struct policy_errors *errors)
{
	bool rules = source_check_rules(source, errors);

	return source_check_env(source, errors) && rules;
}
