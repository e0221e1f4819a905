/* Values of the section "limits", and process.max, another name of limits.pids. */
#include "policy/parse/errors.h"
#include "policy/parse/parser.h"

#include "base/banned.h"

_Static_assert(KEY_ID_AUDIT_SIZE - KEY_ID_WALL == POLICY_LIMIT_AUDIT, "the two enums have the same order");

/* False with a message. */
static bool parser_limit_value(struct parser *parser, const struct policy_key *key, enum policy_limit which,
			       const json_t *value, uint64_t *ret_value)
{
	char number[32], why[160];
	const char *text = parser_amount(value, number);

	if (!text)
		parser_fail_type(parser, key->type, value);
	else if (policy_limit_parse(which, text, ret_value, why, sizeof(why)) < 0)
		parser_fail(parser, "\"%s\" %s", text, why);
	else
		return true;
	return false;
}

void parser_limit(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	struct source *source = parser->source;
	enum policy_limit which = (enum policy_limit)(key->id - KEY_ID_WALL);
	uint64_t read;

	if (!parser_limit_value(parser, key, which, value, &read))
		return;
	*policy_limit_field(&source->limits, which) = read;
	source->limits_given |= POLICY_LIMIT_BIT(which);
}

void parser_process_max(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	struct source *source = parser->source;

	if (!parser_limit_value(parser, key, POLICY_LIMIT_PIDS, value, &source->process_max))
		return;
	source->process_max_given = parser_keep_here(parser, "");
}

void parser_settle_pids(struct parser *parser)
{
	struct source *source = parser->source;
	bool both = source->process_max_given.where && source->limits_given & POLICY_LIMIT_BIT(POLICY_LIMIT_PIDS);

	if (!source->process_max_given.where)
		return;
	if (both && source->limits.pids != source->process_max) {
		policy_errors_add(parser->errors,
				  "%s: is the same limit as limits.pids, which says something else; keep one of them",
				  source->process_max_given.where);
		parser->failed = true;
	}
	source->limits.pids = source->process_max;
	source->limits_given |= POLICY_LIMIT_BIT(POLICY_LIMIT_PIDS);
}
