/* Reads the section "secrets": the place that each secret is read from, and the hosts that may get it. */
#include <string.h>

#include "policy/parse/parser.h"

/* Reads a list of host patterns. NULL-ended. */
static const char *const *secrets_parse_hosts(struct parser *parser, const json_t *list)
{
	const char **host = arena_alloc(parser->arena, (json_array_size(list) + 1) * sizeof(*host)), *why;
	char pattern[NET_HOST_SIZE];

	PARSER_FOR_EACH_ITEM (parser, list, item) {
		const char *text = parser_get_nonempty_string(parser, KEY_STRING, item.value);

		if (text && net_pattern_parse(text, pattern, &why) < 0)
			parser_fail_text(parser, text, why);
		else if (text)
			host[item.index] = arena_dup(parser->arena, pattern);
	}
	return host;
}

/* Adds a secret of the policy, or errors. */
static void secrets_add(struct parser *parser, const char *name, const json_t *object)
{
	struct policy_network *network = &parser->source->network;
	const char *from = json_string_value(json_object_get(object, "from")), *why;
	struct net_secret secret = {.source_location = parser_keep_text(parser, "").source_location};

	if (!net_is_secret_name(name, strlen(name)))
		parser_fail_text(parser, name, "is no variable's name; the program reads the placeholder from it");
	if (!json_object_get(object, "from") || json_array_size(json_object_get(object, "hosts")) == 0)
		parser_fail(parser, "lacks \"%s\"; write {\"from\": \"env:NAME\", \"hosts\": [\"api.example.com\"]}",
			    json_object_get(object, "from") ? "hosts" : "from");
	if (!from || !json_is_array(json_object_get(object, "hosts")))
		return; /* a message was added already */
	(void)parser_enter_member(parser, object, "from");
	if (*from && net_secret_check_value_source(from, &why) < 0)
		parser_fail_text(parser, from, why);
	parser_leave_member(parser);
	secret.name = arena_dup(parser->arena, name);
	secret.value_source = arena_dup(parser->arena, from);
	secret.hosts = secrets_parse_hosts(parser, parser_enter_member(parser, object, "hosts"));
	parser_leave_member(parser);
	ARENA_APPEND(parser->arena, network->secret, network->secret_count, secret);
}

/* Reads "secrets". */
void parser_read_secrets(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	PARSER_FOR_EACH_ITEM (parser, object, item) {
		if (json_is_object(item.value)) {
			parser_read_section(parser, key, "{}", item.value);
			secrets_add(parser, item.name, item.value);
		} else {
			parser_fail_type(parser, KEY_OBJECT, item.value);
		}
	}
}
