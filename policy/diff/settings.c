/*
 * Compares the settings of two policies: everything that `callgate show` prints, except what is granted. A setting that
 * the table below lacks counts as unknown, so that none is overlooked.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/diff/diff.h"

enum settings_class {
	SETTING_NOT_COMPARED, /* the value does not count: a name, or a grant, where witnesses show what differs */
	SETTING_NEUTRAL,      /* the value does not change what is allowed */
	SETTING_UNKNOWN,      /* which of two values grants more is unknown: other values are DIFF_UNORDERED */
	/* a value in an entry of a list: other values are DIFF_UNORDERED; a missing entry is shown by witnesses */
	SETTING_LIST_ENTRY,
	SETTING_UNORDERED_VALUE,     /* other values are DIFF_UNORDERED; a policy without the setting grants less */
	SETTING_GRANTS,              /* a policy that has the setting grants more */
	SETTING_RESTRICTS,           /* a policy that has the setting grants less */
	SETTING_UPPER_BOUND,         /* an upper bound; a policy without the setting has no bound */
	SETTING_UPPER_BOUND_IN_RULE, /* as SETTING_UPPER_BOUND, where both policies have the rule */
	SETTING_OBJECT_AS_ONE_VALUE, /* an object that is compared as one value; a policy that has it grants less */
	SETTING_JUDGE, /* "changes" denies less where a process outside makes a denied name later, and records less */
	SETTING_ON_DENY, /* "ask-file" and "ask" may grant more: an answer can allow; other modes only end a process */
};

/*
 * How settings are compared, by their key in the policy, such as "network.allow[].port": what is in the brackets is
 * left out. The first item counts whose `shape` the key begins with.
 */
static const struct {
	const char *shape;
	enum settings_class class;
} classes[] = {
	{"name", SETTING_NOT_COMPARED},
	{"version", SETTING_NOT_COMPARED},
	{"audit.", SETTING_NEUTRAL},
	{"on_deny", SETTING_ON_DENY},
	{"judge", SETTING_JUDGE},
	{"after_read[]", SETTING_OBJECT_AS_ONE_VALUE},
	{"filesystem.redirect[].to", SETTING_LIST_ENTRY},
	{"filesystem.provide[]", SETTING_LIST_ENTRY},
	{"filesystem.", SETTING_NOT_COMPARED},
	{"exec.", SETTING_NOT_COMPARED},
	{"env.pass[]", SETTING_GRANTS},
	{"env.set[]", SETTING_UNORDERED_VALUE},
	{"limits.stdout", SETTING_NEUTRAL},
	{"limits.stderr", SETTING_NEUTRAL},
	{"limits.", SETTING_UPPER_BOUND},
	{"require[]", SETTING_RESTRICTS},
	{"inspect.refuse[]", SETTING_RESTRICTS},
	{"inspect.warn[]", SETTING_NEUTRAL},
	{"inspect.modules[]", SETTING_NEUTRAL},
	{"workspace.", SETTING_RESTRICTS},    /* "mode" is shown only for "cow" */
	{"libraries.", SETTING_NOT_COMPARED}, /* hides paths, for which there are witnesses */
	{"secrets[].hosts[]", SETTING_GRANTS},
	{"network.allow[].private", SETTING_GRANTS},
	{"network.allow[].any_body", SETTING_GRANTS},
	{"network.allow[].max_", SETTING_UPPER_BOUND_IN_RULE},
	{"network.allow[].requests_per_minute", SETTING_UPPER_BOUND_IN_RULE},
	{"network.allow[].dns", SETTING_LIST_ENTRY},
	{"network.allow[].credential", SETTING_UNKNOWN},
	{"network.allow[].", SETTING_NOT_COMPARED},
	{"network.deny[]", SETTING_NOT_COMPARED},
	{"network.listen[]", SETTING_NOT_COMPARED},
	{"network.default", SETTING_NOT_COMPARED},
	{"network.", SETTING_UNKNOWN},
	{"network", SETTING_NOT_COMPARED}, /* the value "none" */
};

/* Objects whose members are named by the user. */
static const char *const named[] = {"secrets", "env.set", "network.resolve", "filesystem.provide", NULL};

/* A setting of a policy. shape: its key without the names and indices that the user chose. */
struct settings_row {
	const char *key, *shape;
	const json_t *value;
};

/* The settings of one policy as rows, sorted by key. */
struct settings_rows {
	struct arena *arena;
	struct settings_row *row;
	size_t row_count;
};

/* ---- from JSON to rows ---- */

static void settings_add_value(struct settings_rows *rows, const char *key, const char *shape, const json_t *value);

/* Whether the user names the members of objects of this shape, as in "env.set". */
static bool settings_object_has_free_names(const char *shape)
{
	for (const char *const *name = named; *name; name++)
		if (strcmp(*name, shape) == 0)
			return true;
	return false;
}

/* Adds a row for each value in the object. shape: the key with "[]" for names that the user chose. */
static void settings_add_object(struct settings_rows *rows, const char *key, const char *shape, const json_t *object)
{
	struct arena *arena = rows->arena;
	bool any = settings_object_has_free_names(shape);
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, name, value) {
		settings_add_value(rows,
				   any ? arena_printf(arena, "%s[%s]", key, name)
				       : arena_printf(arena, "%s%s%s", key, *key ? "." : "", name),
				   any ? arena_printf(arena, "%s[]", shape)
				       : arena_printf(arena, "%s%s%s", shape, *shape ? "." : "", name),
				   value);
	}
}

/* Returns what identifies an item of a list: its path, its endpoint, or the text itself. */
static const char *settings_make_item_name(struct arena *arena, const json_t *item)
{
	static const char *const members[] = {"path", "from", "host", NULL};
	const json_t *port = json_object_get(item, "port"), *paths = json_object_get(item, "paths"),
		     *named_by = paths ? paths : item;
	_cleanup_free_ char *text = NULL, *ports = port ? json_dumps(port, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	for (const char *const *name = members; json_is_object(item) && *name; name++)
		if (json_object_get(item, *name))
			named_by = json_object_get(item, *name);
	if (json_is_string(named_by))
		return arena_printf(arena, "%s%s%s%s%s", json_string_value(named_by), ports ? ":" : "",
				    ports ? ports : "", json_object_get(item, "proto") ? "/" : "",
				    json_object_get(item, "proto") ? json_string_value(json_object_get(item, "proto"))
								   : "");
	text = json_dumps(named_by, JSON_ENCODE_ANY | JSON_COMPACT);
	return text ? arena_dup(arena, text) : arena_fail_no_memory(arena);
}

/* Names an item of a list. Several rules for one endpoint are told apart by a number. */
static const char *settings_make_unique_item_name(struct settings_rows *rows, const char *key, const json_t *list,
						  size_t at)
{
	const char *name = settings_make_item_name(rows->arena, json_array_get(list, at));
	unsigned before = 0;

	for (size_t i = 0; i < at; i++)
		before += strcmp(settings_make_item_name(rows->arena, json_array_get(list, i)), name) == 0;
	return before ? arena_printf(rows->arena, "%s[%s#%u]", key, name, before + 1)
		      : arena_printf(rows->arena, "%s[%s]", key, name);
}

/* Adds a row for a value, or rows for all values in an object or list. */
static void settings_add_value(struct settings_rows *rows, const char *key, const char *shape, const json_t *value)
{
	if (json_is_object(value) && strcmp(shape, "after_read[]") != 0) {
		settings_add_object(rows, key, shape, value);
	} else if (json_is_array(value)) {
		shape = arena_printf(rows->arena, "%s[]", shape);
		for (size_t i = 0; i < json_array_size(value); i++)
			settings_add_value(rows, settings_make_unique_item_name(rows, key, value, i), shape,
					   json_array_get(value, i));
	} else {
		ARENA_APPEND(rows->arena, rows->row, rows->row_count, ((struct settings_row){key, shape, value}));
	}
}

static int settings_compare_keys(const void *left, const void *right)
{
	return strcmp(((const struct settings_row *)left)->key, ((const struct settings_row *)right)->key);
}

/* Removes "because" texts, which are for people, from the entries of "after_read", which are compared as a whole. */
static void settings_drop_reasons(json_t *root)
{
	size_t i;
	json_t *entry;

	json_array_foreach (json_object_get(root, "after_read"), i, entry)
		(void)json_object_del(entry, "because");
}

/* Collects the settings of a policy. `json` keeps their values. */
static void settings_collect(struct arena *arena, const struct policy *policy, json_t **json,
			     struct settings_rows *rows)
{
	_cleanup_free_ char *text = policy_make_json(policy);

	*json = text ? json_loads(text, 0, NULL) : NULL;
	rows->arena = arena;
	if (!*json)
		(void)arena_fail_no_memory(arena);
	settings_drop_reasons(*json);
	settings_add_object(rows, "", "", *json);
	if (rows->row_count > 0)
		qsort(rows->row, rows->row_count, sizeof(*rows->row), settings_compare_keys);
}

/* ---- differences ---- */

/* Finds how a setting is compared, by the first entry whose shape its own shape begins with. */
static enum settings_class settings_find_class(const char *shape)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strncmp(shape, classes[i].shape, strlen(classes[i].shape)) == 0)
			return classes[i].class;
	return SETTING_UNKNOWN;
}

/* True when the rows have the entry that the key belongs to: "network.allow[api.test:443/https]". */
static bool settings_have_entry(const struct settings_rows *rows, const char *key)
{
	const char *end = strrchr(key, ']');
	size_t len = end ? (size_t)(end - key) + 1 : strlen(key);

	for (size_t i = 0; i < rows->row_count; i++)
		if (strncmp(rows->row[i].key, key, len) == 0 && strchr(".", rows->row[i].key[len])) /* "." or NUL */
			return true;
	return false;
}

/* Returns an upper bound as a number; without a bound the largest number. */
static uint64_t settings_get_upper_bound(const json_t *value)
{
	uint64_t number = UINT64_MAX;

	if (json_is_integer(value))
		return (uint64_t)json_integer_value(value);
	if (json_is_string(value))
		(void)text_parse_duration(json_string_value(value), &number); /* valid: `callgate show` wrote it */
	return number;
}

/* Whether the value, a JSON string or NULL, is this word. */
static bool settings_value_is_word(const json_t *value, const char *word)
{
	return value && strcmp(json_string_value(value), word) == 0;
}

/* The direction of a setting whose value `word` grants more than any other, or none. */
static enum diff_direction settings_compare_word(const json_t *first, const json_t *second, const char *word)
{
	bool had = settings_value_is_word(first, word), has = settings_value_is_word(second, word);

	return had == has ? DIFF_NEUTRAL : has ? DIFF_WIDER : DIFF_NARROWER;
}

/* Whether a value of "on_deny" makes denials questions, which may be answered by a permission. */
static bool settings_value_asks(const json_t *value)
{
	return settings_value_is_word(value, policy_on_deny_get_name(ON_DENY_ASK_FILE)) ||
	       settings_value_is_word(value, policy_on_deny_get_name(ON_DENY_ASK));
}

static enum diff_direction settings_compare_questions(const json_t *first, const json_t *second)
{
	bool asked = settings_value_asks(first), asks = settings_value_asks(second);

	return asked == asks ? DIFF_NEUTRAL : asks ? DIFF_WIDER : DIFF_NARROWER;
}

/* Whether the second policy's value of a setting allows more or less than the first's. NULL: the setting is absent. */
static enum diff_direction settings_get_direction(enum settings_class class, const json_t *first, const json_t *second)
{
	switch (class) {
	case SETTING_NOT_COMPARED:
	case SETTING_NEUTRAL:
		return DIFF_NEUTRAL;
	case SETTING_GRANTS:
		return second && !json_is_false(second) ? DIFF_WIDER : DIFF_NARROWER;
	case SETTING_RESTRICTS:
		return second ? DIFF_NARROWER : DIFF_WIDER;
	case SETTING_UPPER_BOUND:
	case SETTING_UPPER_BOUND_IN_RULE:
		return settings_get_upper_bound(second) > settings_get_upper_bound(first) ? DIFF_WIDER : DIFF_NARROWER;
	case SETTING_ON_DENY:
		return settings_compare_questions(first, second);
	case SETTING_JUDGE:
		return settings_compare_word(first, second, policy_judge_get_name(POLICY_JUDGE_CHANGES));
	case SETTING_UNORDERED_VALUE:
		return second ? DIFF_UNORDERED : DIFF_NARROWER;
	case SETTING_OBJECT_AS_ONE_VALUE:
		return first && second ? DIFF_UNORDERED : second ? DIFF_NARROWER : DIFF_WIDER;
	case SETTING_UNKNOWN:
	case SETTING_LIST_ENTRY:
		break;
	}
	return DIFF_UNORDERED;
}

/* Returns the value as JSON text in the arena, or NULL for NULL. */
static const char *settings_print_value(struct arena *arena, const json_t *value)
{
	_cleanup_free_ char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	return !value ? NULL : text ? arena_dup(arena, text) : arena_fail_no_memory(arena);
}

/* Adds a difference: the rows of one setting in both policies. NULL: the policy does not have it. */
static void settings_add_difference(struct diff_search *search, const struct settings_rows rows[2],
				    const struct settings_row *first, const struct settings_row *second)
{
	struct policy_diff *diff = search->diff;
	const struct settings_row *some = first ? first : second;
	enum settings_class class = some ? settings_find_class(some->shape) : SETTING_NOT_COMPARED;
	const json_t *value[2] = {first ? first->value : NULL, second ? second->value : NULL};
	struct diff_setting setting = {.key = some ? some->key : NULL};

	if (class == SETTING_NOT_COMPARED || (value[0] && value[1] && json_equal(value[0], value[1])))
		return;
	if ((class == SETTING_UPPER_BOUND_IN_RULE || class == SETTING_LIST_ENTRY) &&
	    !(settings_have_entry(&rows[0], some->key) && settings_have_entry(&rows[1], some->key)))
		return;
	for (unsigned side = 0; side < 2; side++)
		setting.json_value[side] = settings_print_value(&diff->arena, value[side]);
	setting.direction = settings_get_direction(class, value[0], value[1]);
	ARENA_APPEND(&diff->arena, diff->setting, diff->setting_count, setting);
}

/* Compares the settings of both policies, in the order of their keys. */
void diff_compare_settings(struct diff_search *search)
{
	json_auto_t *first_json = NULL, *second_json = NULL; /* leaked when memory runs out */
	struct settings_rows rows[2] = {{0}};
	size_t at[2] = {0, 0};

	settings_collect(&search->diff->arena, search->policy[0], &first_json, &rows[0]);
	settings_collect(&search->diff->arena, search->policy[1], &second_json, &rows[1]);
	while (at[0] < rows[0].row_count || at[1] < rows[1].row_count) {
		const struct settings_row *first = at[0] < rows[0].row_count ? &rows[0].row[at[0]] : NULL;
		const struct settings_row *second = at[1] < rows[1].row_count ? &rows[1].row[at[1]] : NULL;
		int order = !first ? 1 : !second ? -1 : strcmp(first->key, second->key);

		at[0] += order <= 0;
		at[1] += order >= 0;
		settings_add_difference(search, rows, order <= 0 ? first : NULL, order >= 0 ? second : NULL);
	}
}
