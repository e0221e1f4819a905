/* Reads the entries of "after_read". Their paths become rules, which lists.c reads. */
#include "policy/parse/parser.h"

/* Adds errors for an entry of "after_read" without paths or without effect. */
static void after_check_entry(struct parser *parser, const json_t *object, const struct source_after_entry *after)
{
	if (json_array_size(json_object_get(object, "paths")) == 0)
		parser_fail(parser, "lacks \"paths\"; write {\"paths\": [\"/data/secret\"], \"then\": "
				    "{\"network\": \"none\"}}");
	if (!json_object_get(object, "then"))
		parser_fail(parser, "lacks \"then\"; write {\"network\": \"none\"}, {\"write\": [...]} or both");
	else if (!after->closes_network && !after->closes_writing &&
		 json_object_size(json_object_get(object, "then")) == 0)
		parser_fail(parser, "has an empty \"then\"; write \"network\": \"none\", \"write\": [...] or both");
}

void parser_read_after_entry(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	struct policy_source *source = parser->source;
	struct source_after_entry *after = arena_alloc(parser->arena, sizeof(*after));
	const char *because = json_string_value(json_object_get(object, "because"));

	after->label = parser_make_rule_label(parser, NULL);
	after->source_location = parser_keep_text(parser, "").source_location;
	after->because_text = because ? arena_dup(parser->arena, because) : NULL;
	after->is_disabled = json_object_get(object, "disabled") != NULL;
	parser->after_entry = after;
	parser_read_section(parser, key, "[]", object);
	parser->after_entry = NULL;
	after_check_entry(parser, object, after);
	if (!after->is_disabled)
		ARENA_APPEND(parser->arena, source->after_entry, source->after_entry_count, after);
}
