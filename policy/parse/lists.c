/* Values that contain others: sections, rules of the file system, environment variables, names of files and layers. */
#include <stdio.h>
#include <string.h>

#include "policy/parse/layer-names.h"
#include "policy/parse/parser.h"

#include "base/banned.h"

static const enum rule_kind rule_kinds[KEY_ID_MAX] = {
	[KEY_ID_READ] = RULE_READ,         [KEY_ID_WRITE] = RULE_WRITE,     [KEY_ID_EXEC] = RULE_EXEC,
	[KEY_ID_DENY] = RULE_DENY,         [KEY_ID_DECOY] = RULE_DECOY,     [KEY_ID_EXEC_DENY] = RULE_EXEC_DENY,
	[KEY_ID_REDIRECT] = RULE_REDIRECT, [KEY_ID_PROVIDE] = RULE_PROVIDE, [KEY_ID_PUBLIC] = RULE_PUBLIC,
	[KEY_ID_PRIVATE] = RULE_PRIVATE,
};

static struct source_rule *lists_add_rule(struct parser *parser, enum key_id id, const char *path)
{
	struct source_rule *rule;

	if (parser->source->rule_count >= SOURCE_RULES_MAX) {
		if (parser->source->rule_count++ == SOURCE_RULES_MAX) /* one message is enough */
			parser_fail(parser, "more than %d rules in one file; use globs or whole directories",
				    SOURCE_RULES_MAX);
		return NULL;
	}
	rule = source_add_rule(parser->arena, parser->source, rule_kinds[id]);
	if (!rule) {
		parser->no_memory = true;
		return NULL;
	}
	rule->path = parser_keep_here(parser, path);
	rule->key = parser_key_of(parser, rule->path.where);
	return rule;
}

static void lists_paths(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list) && !parser->no_memory; i++) {
		const char *text;

		parser_push_index(parser, i);
		text = parser_text(parser, KEY_PATH, json_array_get(list, i));
		if (text)
			(void)lists_add_rule(parser, key->id, text); /* the parser remembers a failure */
		parser_pop(parser);
	}
}

/* A required member of a redirect. */
static const json_t *lists_require(struct parser *parser, const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (!value)
		parser_fail(parser, "lacks \"%s\"; write {\"from\": \"/tmp\", \"to\": \"@scratch/tmp\"}", name);
	return value;
}

static void lists_redirect(struct parser *parser, const json_t *object)
{
	const json_t *from, *to;
	struct source_rule *rule;

	if (!json_is_object(object)) {
		parser_fail_type(parser, KEY_OBJECT, object);
		return;
	}
	parser_members(parser, "filesystem.redirect[]", object);
	from = lists_require(parser, object, "from");
	to = lists_require(parser, object, "to");
	if (!json_is_string(from) || !json_is_string(to))
		return; /* there was a message */
	rule = lists_add_rule(parser, KEY_ID_REDIRECT, json_string_value(from));
	if (!rule)
		return;
	parser_push_name(parser, "to");
	rule->to = parser_keep_here(parser, json_string_value(to));
	parser_pop(parser);
}

static void lists_redirects(struct parser *parser, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list) && !parser->no_memory; i++) {
		parser_push_index(parser, i);
		lists_redirect(parser, json_array_get(list, i));
		parser_pop(parser);
	}
}

/* {"from": "file:PATH"}: returns PATH; {"from": "account:NAME"}: returns account:NAME. Else NULL with a message. */
static const char *lists_provided_file(struct parser *parser, const json_t *object)
{
	static const char scheme[] = "file:";
	const json_t *from;
	const char *name;

	parser_members(parser, "filesystem.provide{}", object);
	from = json_object_get(object, "from");
	if (!from)
		parser_fail(parser, "lacks \"from\"; write {\"from\": \"file:./NAME\"} or the content as a string");
	name = json_string_value(from);
	if (!name)
		return NULL;
	if (strcmp(name, "account:passwd") == 0 || strcmp(name, "account:group") == 0)
		return name;
	if (strncmp(name, scheme, sizeof(scheme) - 1) != 0 || !name[sizeof(scheme) - 1]) {
		parser_push_name(parser, "from");
		parser_fail(parser, "must be \"file:PATH\", \"account:passwd\" or \"account:group\"");
		parser_pop(parser);
		return NULL;
	}
	return name + sizeof(scheme) - 1;
}

static void lists_provide(struct parser *parser, const char *path, const json_t *value)
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
	if (file)
		content = lists_provided_file(parser, value);
	rule = content ? lists_add_rule(parser, KEY_ID_PROVIDE, path) : NULL;
	if (!rule)
		return;
	rule->to = (struct source_text){parser_keep(parser, content), rule->path.where};
	rule->to_file = file;
}

static void lists_provides(struct parser *parser, const json_t *object)
{
	PARSER_EACH (parser, object, at) {
		parser_push_name(parser, json_object_iter_key(at));
		lists_provide(parser, json_object_iter_key(at), json_object_iter_value(at));
		parser_pop(parser);
	}
}

static void lists_add_env(struct parser *parser, const char *name, const char *value)
{
	const char *wrong = source_env_name_error(name, !value);
	struct source_env *env;

	if (wrong) {
		parser_fail(parser, "%s", wrong);
		return;
	}
	env = source_add_env(parser->arena, parser->source);
	if (!env) {
		parser->no_memory = true;
		return;
	}
	env->name = parser_keep_here(parser, name);
	if (value)
		env->value = (struct source_text){parser_keep(parser, value), env->name.where};
}

static void lists_env_set(struct parser *parser, const json_t *object)
{
	PARSER_EACH (parser, object, at) {
		const json_t *value = json_object_iter_value(at);

		parser_push_name(parser, json_object_iter_key(at));
		if (json_is_string(value))
			lists_add_env(parser, json_object_iter_key(at), json_string_value(value));
		else
			parser_fail_type(parser, KEY_STRING, value);
		parser_pop(parser);
	}
}

static void lists_strings(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	struct source *source = parser->source;

	for (size_t i = 0; i < json_array_size(list) && !parser->no_memory; i++) {
		const char *text;

		parser_push_index(parser, i);
		text = parser_text(parser, KEY_STRING, json_array_get(list, i));
		if (text && key->id == KEY_ID_ENV_PASS)
			lists_add_env(parser, text, NULL);
		else if (text && key->id == KEY_ID_NET_EXTENDS)
			PARSER_APPEND(parser, source->net_extends, source->net_extends_count,
				      parser_keep_here(parser, text));
		else if (text)
			PARSER_APPEND(parser, source->extends, source->extends_count, parser_keep_here(parser, text));
		parser_pop(parser);
	}
}

static void lists_layers(struct parser *parser, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name, *nearest;
		unsigned bits;

		parser_push_index(parser, i);
		name = parser_text(parser, KEY_STRING, json_array_get(list, i));
		bits = name ? layer_bits(name, strlen(name)) : 0;
		nearest = name && !bits ? layer_nearest(name) : NULL;
		parser->source->required |= bits;
		if (nearest)
			parser_fail(parser, "there is no layer \"%s\"; did you mean \"%s\"?", name, nearest);
		else if (name && !bits)
			parser_fail(parser, "there is no layer \"%s\"; callgate doctor lists them", name);
		parser_pop(parser);
	}
}

/* The name of a section is the path of keys to it. */
static void lists_section(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	char section[64];

	(void)snprintf(section, sizeof(section), "%s%s%s", key->section, *key->section ? "." : "", key->name);
	parser_members(parser, section, object);
}

void parser_container(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	bool list = key->type == KEY_STRINGS || key->type == KEY_PATHS || key->type == KEY_OBJECTS ||
		    key->type == KEY_LAYERS;

	if (list ? !json_is_array(value) : !json_is_object(value)) {
		parser_fail_type(parser, key->type, value);
		return;
	}
	if (key->id == KEY_ID_NETWORK)
		return; /* strings of a rule or secret, which are read with it */
	if (key->type == KEY_STRINGS)
		lists_strings(parser, key, value);
	else if (key->type == KEY_PATHS)
		lists_paths(parser, key, value);
	else if (key->type == KEY_OBJECTS && key->id != KEY_ID_REDIRECT)
		parser_net_rules(parser, key, value);
	else if (key->type == KEY_OBJECTS)
		lists_redirects(parser, value);
	else if (key->type == KEY_LAYERS)
		lists_layers(parser, value);
	else if (key->type == KEY_TEXTS)
		lists_env_set(parser, value);
	else if (key->type == KEY_PROVIDES)
		lists_provides(parser, value);
	else
		lists_section(parser, key, value);
}
