#include "audit/verify.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/chain.h"
#include "audit/encode.h"
#include "audit/read.h"

static const char *const names[] = {
	[VERIFY_INTACT] = "intact", [VERIFY_EDITED] = "edited", [VERIFY_DELETED] = "deleted",
	[VERIFY_INSERTED] = "inserted", [VERIFY_REORDERED] = "reordered", [VERIFY_LOST_SEGMENT] = "lost_segment",
	[VERIFY_LOST_FILE] = "lost_file", [VERIFY_UNHASHED] = "unhashed", [VERIFY_FOREIGN_FILE] = "foreign_file",
	[VERIFY_REWRITTEN] = "rewritten", [VERIFY_FOREIGN_KEY] = "foreign_key", [VERIFY_SIGNATURE] = "signature",
	[VERIFY_TRUNCATED] = "truncated", [VERIFY_OPEN_END] = "open_end", [VERIFY_UNSIGNED] = "unsigned",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == VERIFY_KIND_MAX, "a kind lacks its name");

const char *verify_get_name(enum verify_kind kind)
{
	return names[kind];
}

void verify_init(struct verify *verify)
{
	memset(verify, 0, sizeof(*verify));
	memset(verify->last.hash, '0', HASH_DIGITS);
	verify->last.place.seq = UINT64_MAX; /* the first line is 0 */
	verify->last.has_unfinished = true;
}

void verify_release(struct verify *verify)
{
	free(verify->late);
	free(verify->text);
	verify->late = NULL;
	verify->text = NULL;
}

/* ---- one line ---- */

struct verify_text {
	const char *at, *end;
};

static bool verify_take(struct verify_text *text, const char *word, size_t len)
{
	if ((size_t)(text->end - text->at) < len || memcmp(text->at, word, len) != 0)
		return false;
	text->at += len;
	return true;
}
#define VERIFY_TAKE(text, word) verify_take((text), "" word, sizeof(word) - 1)

static bool verify_take_number(struct verify_text *text, uint64_t *ret_number)
{
	const char *start = text->at;
	uint64_t number = 0;

	for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++)
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*text->at - '0'), &number))
			return false;
	*ret_number = number;
	return text->at > start;
}

static bool verify_is_digits(const char digits[HASH_DIGITS])
{
	for (size_t i = 0; i < HASH_DIGITS; i++)
		if (!((digits[i] >= '0' && digits[i] <= '9') || (digits[i] >= 'a' && digits[i] <= 'f')))
			return false;
	return true;
}

/* A blank, or one that a killed writer was filling in. */
static bool verify_is_blank(const char digits[HASH_DIGITS])
{
	for (size_t i = 0; i < HASH_DIGITS; i++)
		if (!((digits[i] >= '0' && digits[i] <= '9') || (digits[i] >= 'a' && digits[i] <= 'f') ||
		      digits[i] == '-'))
			return false;
	return memchr(digits, '-', HASH_DIGITS) != NULL;
}

static void verify_hash_line(struct verify_line *line, const char *text, size_t len)
{
	const size_t end = AUDIT_OUTCOME_BYTES + 2;
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, len > end ? len - end : 0, (const uint8_t *)text);
	line->before = context;
	sha256_update(&context, len > end ? end : len, (const uint8_t *)text + (len > end ? len - end : 0));
	sha256_digest(&context, sizeof(digest), digest);
	hash_put_digits(line->hash, digest);
}

/* Computes the hash that the line had before its outcome was known, once. */
static const char *verify_get_unfinished(struct verify_line *line)
{
	char outcome[AUDIT_OUTCOME_BYTES + 2];
	uint8_t digest[SHA256_DIGEST_SIZE];

	if (!line->has_unfinished) {
		outcome_write_unknown(outcome);
		memcpy(outcome + AUDIT_OUTCOME_BYTES, "}\n", 2);
		sha256_update(&line->before, sizeof(outcome), (const uint8_t *)outcome);
		sha256_digest(&line->before, sizeof(digest), digest);
		hash_put_digits(line->unfinished, digest);
		line->has_unfinished = true;
	}
	return line->unfinished;
}

/* Reads the beginning of a line. *ret_rest is behind the hash. expected: the hash that it has in most cases. */
static void verify_parse_line(struct verify_line *line, const char *text, size_t len, const char *expected,
			      struct verify_text *ret_rest)
{
	struct verify_text rest = {text, text + len};
	uint64_t number;

	*ret_rest = rest;
	if (!VERIFY_TAKE(&rest, HASH_LINE_START) || !verify_take_number(&rest, &line->place.seq))
		return;
	line->unhashed = true;
	if (!VERIFY_TAKE(&rest, HASH_LINE_PREV) || rest.end - rest.at <= HASH_DIGITS || rest.at[HASH_DIGITS] != '"')
		return;
	memcpy(line->prev, rest.at, HASH_DIGITS);
	line->unhashed = false;
	line->known = memcmp(line->prev, expected, HASH_DIGITS) == 0;
	if (!line->known) {
		line->blank = verify_is_blank(line->prev);
		line->known = line->blank || verify_is_digits(line->prev);
	}
	if (!line->known)
		return;
	rest.at += HASH_DIGITS + 1;
	*ret_rest = rest;
	if (VERIFY_TAKE(&rest, ",\"outcomes\":\"")) {
		rest.at = memchr(rest.at, '"', (size_t)(rest.end - rest.at));
		if (!rest.at)
			return;
		rest.at++;
	}
	if (!VERIFY_TAKE(&rest, ",\"time\":\"") || rest.end - rest.at <= AUDIT_TIME_LEN)
		return;
	rest.at += AUDIT_TIME_LEN;
	if (!VERIFY_TAKE(&rest, "\",\"mono_ns\":") || !verify_take_number(&rest, &number) ||
	    !VERIFY_TAKE(&rest, ",\"type\":\""))
		return;
	line->header = VERIFY_TAKE(&rest, "header\"");
	line->trailer = VERIFY_TAKE(&rest, "trailer\"");
	line->next = VERIFY_TAKE(&rest, "next\"");
}

/* ---- outcomes that came late ---- */

static int verify_add_late(struct verify *verify)
{
	if (verify->late_count == VERIFY_LATE_MAX)
		return -ENOMEM;
	if (verify->late_count == verify->late_cap) {
		size_t cap = verify->late_cap ? 2 * verify->late_cap : 16;
		struct verify_late *late = reallocarray(verify->late, cap, sizeof(*late));

		if (!late)
			return -ENOMEM;
		verify->late = late;
		verify->late_cap = cap;
	}
	verify->late[verify->late_count].place = verify->last.place;
	memcpy(verify->late[verify->late_count++].hash, verify->last.hash, HASH_DIGITS);
	return 0;
}

static void verify_take_outcome(struct verify *verify, uint64_t seq, const char digits[HASH_DIGITS])
{
	for (size_t i = 0; i < verify->late_count; i++) {
		if (verify->late[i].place.seq != seq)
			continue;
		if (memcmp(verify->late[i].hash, digits, HASH_DIGITS) != 0 && verify->edited.number == 0)
			verify->edited = verify->late[i].place;
		verify->late[i] = verify->late[--verify->late_count];
		return;
	}
}

/* Takes "outcomes" of a line that is in the chain. */
static void verify_take_outcomes(struct verify *verify, struct verify_text rest)
{
	uint64_t seq;

	if (!VERIFY_TAKE(&rest, ",\"outcomes\":\""))
		return;
	while (verify_take_number(&rest, &seq) && VERIFY_TAKE(&rest, ":") && rest.end - rest.at > HASH_DIGITS) {
		verify_take_outcome(verify, seq, rest.at);
		rest.at += HASH_DIGITS;
		if (!VERIFY_TAKE(&rest, " "))
			break;
	}
}

/* ---- header and trailer ---- */

static void verify_copy_text(const json_t *object, const char *key, char *out, size_t cap)
{
	const char *text = json_string_value(json_object_get(object, key));

	(void)snprintf(out, cap, "%s", text ? text : "");
}

static void verify_take_header(struct verify *verify, const struct verify_line *line, const json_t *json)
{
	char run[sizeof(verify->run)], key[sizeof(verify->key_text)];

	verify_copy_text(json, "run", run, sizeof(run));
	verify_copy_text(json, "key", key, sizeof(key));
	verify->file_number = (unsigned)json_integer_value(json_object_get(json, "file"));
	if (verify->lines == 0) {
		memcpy(verify->run, run, sizeof(run));
		memcpy(verify->key_text, key, sizeof(key));
		return;
	}
	if (verify->foreign.number == 0 && (strcmp(run, verify->run) != 0 || strcmp(key, verify->key_text) != 0)) {
		verify->foreign = line->place;
		verify->foreign_key = strcmp(run, verify->run) == 0;
	}
}

static void verify_take_trailer(struct verify *verify, const json_t *json, const char *text, size_t len)
{
	const char *digits = text + len - 3 - SIGN_DIGITS;
	uint8_t decoded[SIGNING_SIGNATURE_BYTES + 4];

	verify->ended = true;
	verify->trailer_records = (uint64_t)json_integer_value(json_object_get(json, "records"));
	verify->trailer_file = (unsigned)json_integer_value(json_object_get(json, "file"));
	verify->recovered = (uint64_t)json_integer_value(json_object_get(json, "recovered"));
	memcpy(verify->head, text + len - SIGN_END_BYTES + sizeof(SIGN_HEAD_KEY) - 1, HASH_DIGITS);
	verify->is_signed = memcmp(digits, SIGN_BLANK, SIGN_DIGITS) != 0;
	if (signing_read_base64(digits, SIGN_DIGITS, decoded, sizeof(decoded)) == SIGNING_SIGNATURE_BYTES)
		memcpy(verify->signature, decoded, SIGNING_SIGNATURE_BYTES);
}

static bool verify_ends_as_trailer(const char *text, size_t len)
{
	const char *end = text + len - SIGN_END_BYTES;

	return len > SIGN_END_BYTES && memcmp(end, SIGN_HEAD_KEY, sizeof(SIGN_HEAD_KEY) - 1) == 0 &&
	       memcmp(end + sizeof(SIGN_HEAD_KEY) - 1 + HASH_DIGITS, SIGN_KEY, sizeof(SIGN_KEY) - 1) == 0 &&
	       memcmp(text + len - 3, "\"}\n", 3) == 0;
}

/* Whether a trailer has its own hash. prev: the hash that it is to have of the line before; NULL: as it is. */
static bool verify_is_sound_trailer(const char *text, size_t len, const char *prev, uint64_t seq)
{
	size_t start = hash_get_prev_offset(seq), bytes = len - SIGN_END_BYTES;
	char digits[HASH_DIGITS];
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	if (!verify_ends_as_trailer(text, len) || len < SIGN_END_BYTES + start + HASH_DIGITS)
		return false;
	sha256_init(&context);
	sha256_update(&context, start, (const uint8_t *)text);
	sha256_update(&context, HASH_DIGITS, (const uint8_t *)(prev ? prev : text + start));
	sha256_update(&context, bytes - start - HASH_DIGITS, (const uint8_t *)text + start + HASH_DIGITS);
	sha256_digest(&context, sizeof(digest), digest);
	hash_put_digits(digits, digest);
	return memcmp(digits, text + bytes + sizeof(SIGN_HEAD_KEY) - 1, HASH_DIGITS) == 0;
}

/* ---- the chain ---- */

bool verify_has_head(struct verify *verify, const char digits[HASH_DIGITS])
{
	return memcmp(digits, verify->last.hash, HASH_DIGITS) == 0 ||
	       memcmp(digits, verify_get_unfinished(&verify->last), HASH_DIGITS) == 0;
}

/* Keeps the first line that does not fit, and what may explain it. */
static void verify_break(struct verify *verify, struct verify_line *line, const char *text, size_t len)
{
	size_t start = hash_get_prev_offset(line->place.seq);
	char run[sizeof(verify->run)];
	struct sha256_ctx context;
	uint8_t digest[SHA256_DIGEST_SIZE];

	verify->is_broken = true;
	verify->broken = *line;
	memcpy(verify->expected, verify->last.hash, HASH_DIGITS);
	if (!line->known)
		return;
	sha256_init(&context);
	sha256_update(&context, start, (const uint8_t *)text);
	sha256_update(&context, HASH_DIGITS, (const uint8_t *)verify->expected);
	sha256_update(&context, len - start - HASH_DIGITS, (const uint8_t *)text + start + HASH_DIGITS);
	sha256_digest(&context, sizeof(digest), digest);
	hash_put_digits(verify->repaired, digest);
	if (line->header) {
		json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);

		verify->broken_file = (unsigned)json_integer_value(json_object_get(json, "file"));
		verify_copy_text(json, "run", run, sizeof(run));
		verify->broken_foreign = verify->lines > 0 && run[0] && strcmp(run, verify->run) != 0;
		json_decref(json);
	}
	verify->repaired_trailer =
		line->trailer && verify_is_sound_trailer(text, len, verify->expected, line->place.seq);
}

/* Collects what lines behind the break say about it. */
static void verify_add_after_break(struct verify *verify, struct verify_line *line)
{
	uint64_t want = verify->last.place.seq + 1, had = verify->broken.place.seq;

	if (!verify->has_after) {
		verify->after = *line;
		verify->has_after = true;
	}
	if (!line->known)
		return;
	if (verify->successor && line->place.seq == had)
		verify->again = true;
	if (line->place.seq == want && verify_has_head(verify, line->prev))
		verify->successor = true;
	if (verify->broken.known && line->place.seq >= want && line->place.seq < had)
		verify->moved = true;
}

static int verify_keep_text(struct verify *verify, const char *text, size_t len)
{
	if (len > verify->text_cap) {
		char *copy = realloc(verify->text, 2 * len);

		if (!copy)
			return -ENOMEM;
		verify->text = copy;
		verify->text_cap = 2 * len;
	}
	memcpy(verify->text, text, len);
	verify->text_len = len;
	return 0;
}

/* Adds a line that fits. */
static int verify_accept(struct verify *verify, struct verify_line *line, struct verify_text rest, const char *text,
			 size_t len)
{
	bool late = !line->blank && memcmp(line->prev, verify->last.hash, HASH_DIGITS) != 0;
	json_t *json = NULL;
	int r = late ? verify_add_late(verify) : 0;

	if (r == 0)
		r = verify_keep_text(verify, text, len);
	if (line->header || line->trailer || line->next)
		json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (!line->blank)
		verify->sealed = verify->lines;
	if (line->blank && verify->blanks++ == 0) {
		verify->first_blank = line->place;
		memcpy(verify->before_blank, verify->last.hash, HASH_DIGITS);
	}
	verify_take_outcomes(verify, rest);
	if (line->header && json)
		verify_take_header(verify, line, json);
	else if (line->trailer && line->sound)
		verify_take_trailer(verify, json, text, len);
	verify->next_name[0] = '\0';
	if (line->next)
		verify_copy_text(json, "next", verify->next_name, sizeof(verify->next_name));
	json_decref(json);
	verify->records += !line->header && !line->trailer && !line->next;
	verify->lines++;
	memcpy(verify->previous_hash, line->prev, HASH_DIGITS);
	verify->last = *line;
	return r;
}

static bool verify_fits(struct verify *verify, const struct verify_line *line)
{
	if (!line->known || verify->ended || line->place.seq != verify->last.place.seq + 1 ||
	    (line->place.number == 1 && !line->header)) /* each file begins with a header */
		return false;
	if (line->blank)
		return verify->blanks < CHAIN_WAITING && !line->trailer;
	if (verify->blanks > 0) /* the lines before would have been filled in first */
		return false;
	return verify_has_head(verify, line->prev);
}

void verify_resume(struct verify *verify, const char *text, size_t len)
{
	struct verify_line line = {.known = false};
	struct verify_text rest;

	verify_parse_line(&line, text, len, verify->last.hash, &rest);
	if (!line.known)
		return;
	verify->last.place.seq = line.place.seq - 1;
	memcpy(verify->last.hash, line.prev, HASH_DIGITS);
}

void verify_begin_file(struct verify *verify)
{
	verify->files++;
	verify->number = 0;
}

void verify_end_file(struct verify *verify, uint64_t torn)
{
	verify->torn = torn;
	if (verify->number == 0)
		verify->next_name[0] = '\0'; /* the file exists; its writer was killed before the header */
}

int verify_add_line(struct verify *verify, const char *text, size_t len)
{
	struct verify_line line;
	struct verify_text rest;

	memset(&line, 0, offsetof(struct verify_line, prev));
	line.has_unfinished = false;
	line.place.file = verify->files - 1;
	line.place.number = ++verify->number;
	verify->bytes += len;
	verify_parse_line(&line, text, len, verify->last.hash, &rest);
	verify_hash_line(&line, text, len);
	line.signed_end = verify_ends_as_trailer(text, len);
	if (line.trailer)
		line.sound = verify_is_sound_trailer(text, len, NULL, line.place.seq);
	line.broken = memchr(text, '\0', len) != NULL;
	if (line.broken)
		line.known = line.unhashed = false;
	if (verify->is_broken) {
		verify_add_after_break(verify, &line);
		return 0;
	}
	if (verify_fits(verify, &line))
		return verify_accept(verify, &line, rest, text, len);
	verify_break(verify, &line, text, len);
	return 0;
}
