/* The section "secrets": where each secret is read from, and the hosts that it may be sent to. */
#include <string.h>

#include "policy/parse/parser.h"

#include "base/banned.h"

static const char *const *secrets_hosts(struct parser *parser, const json_t *list)
{
	size_t count = json_array_size(list);
	const char **host = arena_alloc(parser->arena, (count + 1) * sizeof(*host)), *why;
	char pattern[NET_HOST_MAX];

	if (!host)
		parser->no_memory = true;
	for (size_t i = 0; host && i < count; i++) {
		const char *text;

		parser_push_index(parser, i);
		text = parser_text(parser, KEY_STRING, json_array_get(list, i));
		if (text && net_pattern_parse(text, pattern, &why) < 0)
			parser_fail(parser, "\"%s\" %s", text, why);
		else if (text)
			host[i] = parser_keep(parser, pattern);
		parser_pop(parser);
	}
	return host;
}

static void secrets_add(struct parser *parser, const char *name, const json_t *object)
{
	struct source_network *network = &parser->source->network;
	const char *from = json_string_value(json_object_get(object, "from")), *why;
	const json_t *hosts = json_object_get(object, "hosts");
	struct net_written_secret secret = {.where = parser_keep_here(parser, "").where};

	if (!net_is_secret_name(name, strlen(name)))
		parser_fail(parser, "\"%s\" is no variable's name; the program reads the placeholder from it", name);
	if (!json_object_get(object, "from") || json_array_size(hosts) == 0)
		parser_fail(parser, "lacks \"%s\"; write {\"from\": \"env:NAME\", \"hosts\": [\"api.example.com\"]}",
			    json_object_get(object, "from") ? "hosts" : "from");
	if (!from)
		return;
	parser_push_name(parser, "from");
	if (*from && net_secret_from_check(from, &why) < 0)
		parser_fail(parser, "\"%s\" %s", from, why);
	parser_pop(parser);
	secret.secret.name = parser_keep(parser, name);
	secret.secret.from = parser_keep(parser, from);
	parser_push_name(parser, "hosts");
	secret.secret.hosts = secrets_hosts(parser, hosts);
	parser_pop(parser);
	PARSER_APPEND(parser, network->secret, network->secrets, secret);
}

void parser_secrets(struct parser *parser, const json_t *object)
{
	if (!json_is_object(object))
		parser_fail_type(parser, KEY_SECRETS, object);
	PARSER_EACH (parser, object, at) {
		const json_t *value = json_object_iter_value(at);

		parser_push_name(parser, json_object_iter_key(at));
		if (json_is_object(value)) {
			parser_members(parser, "secrets{}", value);
			secrets_add(parser, json_object_iter_key(at), value);
		} else {
			parser_fail_type(parser, KEY_OBJECT, value);
		}
		parser_pop(parser);
	}
}
