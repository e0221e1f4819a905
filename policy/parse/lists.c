/* Reads values that contain others: sections, file system rules, environment variables, names of files and layers. */
#include <string.h>

#include "policy/findings.h"
#include "policy/parse/layer-names.h"
#include "policy/parse/parser.h"
#include "policy/paths/after.h"

_Static_assert(KEY_ID_AFTER_WRITE - KEY_ID_READ == RULE_AFTER_WRITE, "rules and their keys have one order");

/* Adds a rule about a path. NULL: there are too many, for which an error was added. */
static struct source_rule *lists_add_rule(struct parser *parser, enum rule_kind kind, const char *path)
{
	struct source_rule *rule;

	if (parser->source->rule_count >= SOURCE_RULES_MAX) {
		if (!parser->has_too_many_rules) /* only the first surplus rule gets a message */
			parser_fail(parser, "more than %d rules in one file; use globs or whole directories",
				    SOURCE_RULES_MAX);
		parser->has_too_many_rules = true;
		return NULL;
	}
	rule = source_add_rule(parser->arena, parser->source, kind);
	rule->path = parser_keep_text(parser, path);
	rule->key = parser_copy_key_for_message(parser);
	rule->after_entry = parser->after_entry;
	rule->is_excluded_from_policy = parser->after_entry && parser->after_entry->is_disabled;
	return rule;
}

/* True for an entry with "disabled", which holds a reason: the entry is checked, but makes no rule. */
static bool lists_entry_is_disabled(const json_t *object)
{
	return json_object_get(object, "disabled");
}

/* The kind of the rules in the list of a key. */
static enum rule_kind lists_get_rule_kind(const struct policy_key *key)
{
	return key->id == KEY_ID_ASK        ? RULE_DENY
	       : key->id == KEY_ID_EXEC_ASK ? RULE_EXEC_DENY
					    : (enum rule_kind)(key->id - KEY_ID_READ);
}

/* Makes a rule of a list "ask" ask. Such a rule is one of "deny" in every other respect. */
static void lists_let_rule_ask(struct parser *parser, const json_t *value, struct source_rule *rule)
{
	if (!rule)
		return;
	if (rule->on_deny) {
		(void)parser_enter_member(parser, value, "on_deny");
		parser_fail(parser, "is \"ask\" in this list; write the path to \"deny\" for another one");
		parser_leave_member(parser);
	}
	rule->on_deny = ON_DENY_ASK;
}

/* Returns PATH of {"path": PATH, "because": ...}. NULL when the entry is disabled, or wrong (with a message). */
static const char *lists_get_path_of_entry(struct parser *parser, const json_t *object)
{
	const json_t *path = json_object_get(object, "path");
	const char *text = json_string_value(path);

	parser_read_members(parser, "paths[]", object);
	if (!path)
		parser_fail(parser, "lacks \"path\"; write {\"path\": \"/data\", \"because\": \"...\"}");
	return text && *text && !lists_entry_is_disabled(object) ? text : NULL;
}

/*
 * Reads the members of {"path": PATH, "because": ...} into `rule`, except the path. rule NULL: the entry makes no rule,
 * so there is nothing to read.
 */
static void lists_read_entry_members(struct parser *parser, const json_t *value, struct source_rule *rule)
{
	const char *because = json_string_value(json_object_get(value, "because"));
	const char *on_read = json_string_value(json_object_get(value, "on_read"));

	if (!rule)
		return;
	if (because)
		rule->because_text = arena_dup(parser->arena, because);
	rule->on_deny = parser_find_on_deny_word(json_object_get(value, "on_deny"));
	rule->decoy_read_ends_run = on_read && strcmp(on_read, "kill") == 0;
	if (rule->on_deny && kind_is_after(rule->kind)) {
		(void)parser_enter_member(parser, value, "on_deny");
		parser_fail(parser, "is for grants and denials; the paths of after_read deny nothing");
		parser_leave_member(parser);
	}
	if (on_read && rule->kind != RULE_DECOY) {
		(void)parser_enter_member(parser, value, "on_read");
		parser_fail(parser, "is for filesystem.decoy; write it there");
		parser_leave_member(parser);
	}
}

/* Reads a list of paths, such as "filesystem.read", as rules of the kind that the key stands for. */
void parser_read_paths(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	if (key->id == KEY_ID_AFTER_WRITE)
		parser->after_entry->closes_writing = true;
	PARSER_FOR_EACH_ITEM (parser, list, item) {
		const char *text = json_is_object(item.value)
					   ? lists_get_path_of_entry(parser, item.value)
					   : parser_get_nonempty_string(parser, KEY_PATH, item.value);

		struct source_rule *rule = text ? lists_add_rule(parser, lists_get_rule_kind(key), text) : NULL;

		lists_read_entry_members(parser, item.value, rule);
		if (key->id == KEY_ID_ASK || key->id == KEY_ID_EXEC_ASK)
			lists_let_rule_ask(parser, item.value, rule);
	}
}

/* Returns a member that every redirect must have; NULL with a message when it is missing. */
static const json_t *lists_get_required_member(struct parser *parser, const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (!value)
		parser_fail(parser, "lacks \"%s\"; write {\"from\": \"/tmp\", \"to\": \"@scratch/tmp\"}", name);
	return value;
}

static void lists_add_redirect(struct parser *parser, const json_t *object)
{
	const json_t *from, *to;
	struct source_rule *rule;

	from = lists_get_required_member(parser, object, "from");
	to = lists_get_required_member(parser, object, "to");
	if (!json_string_length(from) || !json_string_length(to))
		return; /* a message was added already */
	if (lists_entry_is_disabled(object))
		return;
	rule = lists_add_rule(parser, RULE_REDIRECT, json_string_value(from));
	if (!rule)
		return;
	lists_read_entry_members(parser, object, rule);
	(void)parser_enter_member(parser, object, "to");
	rule->to = parser_keep_text(parser, json_string_value(to));
	parser_leave_member(parser);
}

/* Reads a list of objects: network rules, redirects, or entries of "after_read". */
void parser_read_objects(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	if (key->id == KEY_ID_AFTER && json_array_size(list) > POLICY_AFTER_ENTRIES_MAX) {
		parser_fail(parser, "more than %d entries; name more paths in one entry", POLICY_AFTER_ENTRIES_MAX);
		return;
	}
	if (key->id != KEY_ID_REDIRECT && json_array_size(list) > NET_RULES_MAX) {
		parser_fail(parser, "more than %d rules in one list; use wildcards", NET_RULES_MAX);
		return;
	}
	PARSER_FOR_EACH_ITEM (parser, list, item) {
		if (!json_is_object(item.value)) {
			parser_fail_type(parser, KEY_OBJECT, item.value);
			continue;
		}
		if (key->id == KEY_ID_AFTER) {
			parser_read_after_entry(parser, key, item.value);
			continue;
		}
		parser_read_section(parser, key, "[]", item.value);
		if (key->id == KEY_ID_REDIRECT)
			lists_add_redirect(parser, item.value);
		else
			parser_read_net_rule(parser, key, item.value);
	}
}

/*
 * Returns what "from" of a provide rule names: the PATH of "file:PATH", or the whole text of a generated file, such as
 * "account:passwd". NULL with a message.
 */
static const char *lists_get_provided_file(struct parser *parser, const json_t *object)
{
	static const char *const generated[] = {"account:passwd", "account:group", "machine:hostname", "machine:hosts"};
	static const char scheme[] = "file:";
	const json_t *from = json_object_get(object, "from");
	const char *name = json_string_value(from);

	if (!from)
		parser_fail(parser, "lacks \"from\"; write {\"from\": \"file:./NAME\"} or the content as a string");
	if (!name)
		return NULL;
	for (size_t i = 0; i < sizeof(generated) / sizeof(generated[0]); i++)
		if (strcmp(name, generated[i]) == 0)
			return name;
	if (strncmp(name, scheme, sizeof(scheme) - 1) != 0 || !name[sizeof(scheme) - 1]) {
		(void)parser_enter_member(parser, object, "from");
		parser_fail(parser, "must be \"file:PATH\", \"account:passwd\", \"account:group\", "
				    "\"machine:hostname\" or \"machine:hosts\"");
		parser_leave_member(parser);
		return NULL;
	}
	return name + sizeof(scheme) - 1;
}

/* Adds the rule for a file of "provide", whose content is the value or comes from a file. */
static void lists_add_provided(struct parser *parser, const struct policy_key *key, const char *path,
			       const json_t *value)
{
	bool file = json_is_object(value);
	const char *content = json_string_value(value);
	struct source_rule *rule;

	if (!file && !content) {
		parser_fail(parser, "must be the file's content as a string, or {\"from\": \"file:PATH\"}");
		return;
	}
	if (!*path) {
		parser_fail(parser, "must not be empty; write the file's path in the view");
		return;
	}
	if (file) {
		parser_read_section(parser, key, "{}", value);
		content = lists_get_provided_file(parser, value);
	}
	rule = content ? lists_add_rule(parser, RULE_PROVIDE, path) : NULL;
	if (!rule)
		return;
	rule->to = (struct source_text){arena_dup(parser->arena, content), rule->path.source_location};
	rule->has_provided_file = file;
}

/* Reads "filesystem.provide". */
void parser_read_provides(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	PARSER_FOR_EACH_ITEM (parser, object, item)
		lists_add_provided(parser, key, item.name, item.value);
}

/* Adds a variable that is set or, with value NULL, passed on; or an error. */
static void lists_add_env(struct parser *parser, const char *name, const char *value)
{
	const char *wrong = source_find_env_name_error(name, !value);
	struct source_env_variable *env;

	if (wrong) {
		parser_fail(parser, "%s", wrong);
		return;
	}
	env = source_add_env(parser->arena, parser->source);
	env->name = parser_keep_text(parser, name);
	if (value)
		env->value = (struct source_text){arena_dup(parser->arena, value), env->name.source_location};
}

/* Reads "env.set". */
void parser_read_env(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	(void)key;
	PARSER_FOR_EACH_ITEM (parser, object, item) {
		if (json_is_string(item.value))
			lists_add_env(parser, item.name, json_string_value(item.value));
		else
			parser_fail_type(parser, KEY_STRING, item.value);
	}
}

/* Reads a list of "libraries". */
static void lists_read_libraries(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	struct source_libraries *libraries = &parser->source->libraries[key->id - KEY_ID_LIBRARIES_PYTHON];

	libraries->source_location = parser_keep_text(parser, "").source_location;
	PARSER_FOR_EACH_ITEM(parser, list, item)
	{
		const char *name = parser_get_nonempty_string(parser, KEY_STRING, item.value);

		if (name && !policy_library_name_is_valid(name))
			parser_fail(parser, "is no name of a package; write one such as \"numpy\" or \"@types/node\"");
		else if (name)
			ARENA_APPEND(parser->arena, libraries->name, libraries->count, arena_dup(parser->arena, name));
	}
}

/* Reads a list of texts: "env.pass" or the names that are extended. */
void parser_read_strings(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	struct policy_source *source = parser->source;

	if (key->id == KEY_ID_LIBRARIES_PYTHON || key->id == KEY_ID_LIBRARIES_NODE) {
		lists_read_libraries(parser, key, list);
		return;
	}
	if (key->id == KEY_ID_NONE)
		return; /* net-rule.c or secrets.c reads this list with the object that has it */
	PARSER_FOR_EACH_ITEM (parser, list, item) {
		const char *text = parser_get_nonempty_string(parser, KEY_STRING, item.value);

		if (text && key->id == KEY_ID_ENV_PASS)
			lists_add_env(parser, text, NULL);
		else if (text && key->id == KEY_ID_NET_EXTENDS)
			ARENA_APPEND(parser->arena, source->net_extends, source->net_extends_count,
				     parser_keep_text(parser, text));
		else if (text && key->id == KEY_ID_INSPECT_MODULES)
			ARENA_APPEND(parser->arena, source->modules, source->module_count,
				     parser_keep_text(parser, text));
		else if (text && key->id == KEY_ID_WORKSPACE_DIRECTORIES)
			ARENA_APPEND(parser->arena, source->workspace_dir, source->workspace_dir_count,
				     parser_keep_text(parser, text));
		else if (text && key->id == KEY_ID_EXTENDS)
			ARENA_APPEND(parser->arena, source->extends, source->extends_count,
				     parser_keep_text(parser, text));
	}
}

/* Reads "require", a list of sandbox layers. */
void parser_read_layers(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	(void)key;
	PARSER_FOR_EACH_ITEM (parser, list, item) {
		const char *name = parser_get_nonempty_string(parser, KEY_STRING, item.value);
		unsigned bits = name ? layer_parse_bits(name, strlen(name)) : 0;
		const char *nearest = name && !bits ? layer_find_nearest_name(name) : NULL;

		parser->source->required_layers |= bits;
		if (nearest)
			parser_fail(parser, "there is no layer \"%s\"; did you mean \"%s\"?", name, nearest);
		else if (name && !bits)
			parser_fail(parser, "there is no layer \"%s\"; callgate doctor lists them", name);
	}
}

/* Reads a list of "inspect": kinds and levels of findings. */
void parser_read_findings(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	uint32_t *all =
		key->id == KEY_ID_INSPECT_REFUSE ? &parser->source->refused_findings : &parser->source->warned_findings;

	PARSER_FOR_EACH_ITEM(parser, list, item)
	{
		const char *name = parser_get_nonempty_string(parser, KEY_STRING, item.value);
		uint32_t bits = name ? inspect_parse_bits(name) : 0;

		*all |= bits;
		if (name && !bits)
			parser_fail(parser, "there is no kind or level of findings \"%s\"; callgate(1) lists them",
				    name);
	}
}
