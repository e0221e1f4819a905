#include "audit/verify-line.h"

#include <string.h>

#include "audit/chain.h"
#include "audit/encode.h"

bool verify_accept_text(struct verify_cursor *cursor, const char *word, size_t len)
{
	if ((size_t)(cursor->end - cursor->at) < len || memcmp(cursor->at, word, len) != 0)
		return false;
	cursor->at += len;
	return true;
}

bool verify_read_number(struct verify_cursor *cursor, uint64_t *ret_number)
{
	const char *start = cursor->at;
	uint64_t number = 0;

	for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++)
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*cursor->at - '0'), &number))
			return false;
	*ret_number = number;
	return cursor->at > start;
}

static bool verify_is_hash_digits(const char digits[HASH_DIGITS])
{
	for (size_t i = 0; i < HASH_DIGITS; i++)
		if (!((digits[i] >= '0' && digits[i] <= '9') || (digits[i] >= 'a' && digits[i] <= 'f')))
			return false;
	return true;
}

/* Whether the digits are HASH_BLANK, or a part of it: a writer may have been killed while it replaced the blank. */
static bool verify_is_hash_blank(const char digits[HASH_DIGITS])
{
	for (size_t i = 0; i < HASH_DIGITS; i++)
		if (!((digits[i] >= '0' && digits[i] <= '9') || (digits[i] >= 'a' && digits[i] <= 'f') ||
		      digits[i] == '-'))
			return false;
	return memchr(digits, '-', HASH_DIGITS) != NULL;
}

void verify_hash_line(struct verify_line *line, const char *text, size_t len)
{
	const size_t end = AUDIT_OUTCOME_BYTES + 2;
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, len > end ? len - end : 0, (const uint8_t *)text);
	line->hash_state_before_outcome = context;
	sha256_update(&context, len > end ? end : len, (const uint8_t *)text + (len > end ? len - end : 0));
	sha256_digest(&context, sizeof(digest), digest);
	hash_put_digits(line->hash, digest);
}

const char *verify_get_hash_without_outcome(struct verify_line *line)
{
	char outcome[AUDIT_OUTCOME_BYTES + 2];
	uint8_t digest[SHA256_DIGEST_SIZE];

	if (!line->has_hash_without_outcome) {
		outcome_write_unknown(outcome);
		memcpy(outcome + AUDIT_OUTCOME_BYTES, "}\n", 2);
		sha256_update(&line->hash_state_before_outcome, sizeof(outcome), (const uint8_t *)outcome);
		sha256_digest(&line->hash_state_before_outcome, sizeof(digest), digest);
		hash_put_digits(line->hash_without_outcome, digest);
		line->has_hash_without_outcome = true;
	}
	return line->hash_without_outcome;
}

void verify_parse_line(struct verify_line *line, const char *text, size_t len, const char *expected,
		       struct verify_cursor *ret_rest)
{
	struct verify_cursor rest = {text, text + len};
	uint64_t number;

	*ret_rest = rest;
	if (!VERIFY_ACCEPT_TEXT(&rest, HASH_LINE_START) || !verify_read_number(&rest, &line->place.seq))
		return;
	line->lacks_hash = true;
	if (!VERIFY_ACCEPT_TEXT(&rest, HASH_LINE_PREV) || rest.end - rest.at <= HASH_DIGITS ||
	    rest.at[HASH_DIGITS] != '"')
		return;
	memcpy(line->hash_of_previous, rest.at, HASH_DIGITS);
	line->lacks_hash = false;
	line->begins_like_log_line = memcmp(line->hash_of_previous, expected, HASH_DIGITS) == 0;
	if (!line->begins_like_log_line) {
		line->has_hash_blank = verify_is_hash_blank(line->hash_of_previous);
		line->begins_like_log_line = line->has_hash_blank || verify_is_hash_digits(line->hash_of_previous);
	}
	if (!line->begins_like_log_line)
		return;
	rest.at += HASH_DIGITS + 1;
	*ret_rest = rest;
	if (VERIFY_ACCEPT_TEXT(&rest, ",\"outcomes\":\"")) {
		rest.at = memchr(rest.at, '"', (size_t)(rest.end - rest.at));
		if (!rest.at)
			return;
		rest.at++;
	}
	if (!VERIFY_ACCEPT_TEXT(&rest, ",\"time\":\"") || rest.end - rest.at <= AUDIT_TIMESTAMP_LEN)
		return;
	rest.at += AUDIT_TIMESTAMP_LEN;
	if (!VERIFY_ACCEPT_TEXT(&rest, "\",\"mono_ns\":") || !verify_read_number(&rest, &number) ||
	    !VERIFY_ACCEPT_TEXT(&rest, ",\"type\":\""))
		return;
	line->header = VERIFY_ACCEPT_TEXT(&rest, "header\"");
	line->trailer = VERIFY_ACCEPT_TEXT(&rest, "trailer\"");
	line->next = VERIFY_ACCEPT_TEXT(&rest, "next\"");
}
