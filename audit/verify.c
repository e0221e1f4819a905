#include "audit/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/chain.h"
#include "audit/encode.h"
#include "audit/read.h"
#include "audit/verify-line.h"

static const struct {
	const char *name; /* short name that programs read in the JSON of a result, such as "lost_file" */
	const char *text; /* text for people; for a finding at one line, the text continues "line with seq 5" */
} kinds[] = {
	[VERIFY_INTACT] = {"intact", "intact"},
	[VERIFY_EDITED] = {"edited", "was edited"},
	[VERIFY_DELETED] = {"deleted", "deleted"},
	[VERIFY_INSERTED] = {"inserted", "was inserted: callgate did not write it here"},
	[VERIFY_REORDERED] = {"reordered", "stands before an earlier one: lines were reordered"},
	[VERIFY_LOST_SEGMENT] = {"lost_segment", "lost with a piece of the file"},
	[VERIFY_LOST_FILE] = {"lost_file", "a file of the log is missing"},
	[VERIFY_HASH_MISSING] = {"unhashed", "lacks the hash of the line before"},
	[VERIFY_FOREIGN_FILE] = {"foreign_file", "this file belongs to another run"},
	[VERIFY_REWRITTEN] = {"rewritten", "is not the one that was anchored: the log was rewritten"},
	[VERIFY_FOREIGN_KEY] = {"foreign_key", "signed with another key, of another run or time"},
	[VERIFY_BAD_SIGNATURE] = {"signature", "the signature is wrong"},
	[VERIFY_TRUNCATED] = {"truncated", "truncated: the anchor has seen more lines"},
	[VERIFY_NO_TRAILER] = {"open_end",
			       "no trailer: the writer was killed, or lines were cut off; without an anchor "
			       "it cannot be told which"},
	[VERIFY_UNSIGNED] = {"unsigned", "in order, but not signed: callgate was killed before, or the log was "
					 "rewritten; it cannot be told which"},
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == VERIFY_KIND_MAX, "a kind lacks its name");

const char *verify_kind_get_name(enum verify_kind kind)
{
	return kinds[kind].name;
}

void verify_describe_finding(const struct verify_finding *finding, char out[VERIFY_FINDING_TEXT_SIZE])
{
	const char *text = kinds[finding->kind].text;
	uint64_t first = finding->first, last = finding->last;

	if ((last > 0 || finding->kind == VERIFY_DELETED) && first == last)
		(void)snprintf(out, VERIFY_FINDING_TEXT_SIZE,
			       "line %" PRIu64 " of the run is missing here (seq %" PRIu64 "): %s", first, first, text);
	else if (last > 0 || finding->kind == VERIFY_DELETED)
		(void)snprintf(out, VERIFY_FINDING_TEXT_SIZE,
			       "lines %" PRIu64 " to %" PRIu64 " of the run are missing here (seq %" PRIu64 "): %s",
			       first, last, first, text);
	else if (finding->place.line_number > 0)
		(void)snprintf(out, VERIFY_FINDING_TEXT_SIZE, "line with seq %" PRIu64 " %s", finding->place.seq, text);
	else
		(void)snprintf(out, VERIFY_FINDING_TEXT_SIZE, "%s", text);
}

/* Prepares to verify a log from its first line. */
void verify_init(struct verify *verify)
{
	memset(verify, 0, sizeof(*verify));
	memset(verify->last_line.hash, '0', HASH_DIGITS);
	verify->last_line.place.seq = UINT64_MAX; /* the first line is 0 */
	verify->last_line.has_hash_without_outcome = true;
}

void verify_release(struct verify *verify)
{
	free(verify->late_outcome);
	free(verify->last_line_text);
	verify->late_outcome = NULL;
	verify->last_line_text = NULL;
}

/* ---- outcomes of records that were sealed before they had one ---- */

/* Keeps the hash of the last line, whose outcome came too late for the next line's hash. 0 or -ENOMEM. */
static int verify_add_late_outcome(struct verify *verify)
{
	if (verify->late_count == VERIFY_LATE_OUTCOMES_MAX)
		return -ENOMEM;
	if (verify->late_count == verify->late_cap) {
		size_t cap = verify->late_cap ? 2 * verify->late_cap : 16;
		struct verify_late_outcome *late = reallocarray(verify->late_outcome, cap, sizeof(*late));

		if (!late)
			return -ENOMEM;
		verify->late_outcome = late;
		verify->late_cap = cap;
	}
	verify->late_outcome[verify->late_count].place = verify->last_line.place;
	memcpy(verify->late_outcome[verify->late_count++].hash, verify->last_line.hash, HASH_DIGITS);
	return 0;
}

/* Compares a late outcome's hash with that of its record's bytes. If they differ, the record was edited. */
static void verify_compare_late_outcome(struct verify *verify, uint64_t seq, const char digits[HASH_DIGITS])
{
	for (size_t i = 0; i < verify->late_count; i++) {
		if (verify->late_outcome[i].place.seq != seq)
			continue;
		if (memcmp(verify->late_outcome[i].hash, digits, HASH_DIGITS) != 0 &&
		    verify->first_edited_record.line_number == 0)
			verify->first_edited_record = verify->late_outcome[i].place;
		verify->late_outcome[i] = verify->late_outcome[--verify->late_count];
		return;
	}
}

/* Reads "outcomes" of a line that fits into the chain. */
static void verify_read_outcomes(struct verify *verify, struct verify_cursor rest)
{
	uint64_t seq;

	if (!VERIFY_ACCEPT_TEXT(&rest, ",\"outcomes\":\""))
		return;
	while (verify_read_number(&rest, &seq) && VERIFY_ACCEPT_TEXT(&rest, ":") && rest.end - rest.at > HASH_DIGITS) {
		verify_compare_late_outcome(verify, seq, rest.at);
		rest.at += HASH_DIGITS;
		if (!VERIFY_ACCEPT_TEXT(&rest, " "))
			break;
	}
}

/* ---- header and trailer ---- */

/* Copies a text of the line, cut to `cap`. A missing one is empty. */
static void verify_copy_text(const json_t *object, const char *key, char *out, size_t cap)
{
	const char *text = json_string_value(json_object_get(object, key));

	(void)snprintf(out, cap, "%s", text ? text : "");
}

/* Keeps run and key of the first header, and the place of a later one that differs. */
static void verify_read_header(struct verify *verify, const struct verify_line *line, const json_t *json)
{
	char run[sizeof(verify->run)], key[sizeof(verify->header_key_text)];

	verify_copy_text(json, "run", run, sizeof(run));
	verify_copy_text(json, "key", key, sizeof(key));
	verify->file_number = (unsigned)json_integer_value(json_object_get(json, "file"));
	if (verify->lines == 0) {
		memcpy(verify->run, run, sizeof(run));
		memcpy(verify->header_key_text, key, sizeof(key));
		return;
	}
	if (verify->foreign_header_place.line_number == 0 &&
	    (strcmp(run, verify->run) != 0 || strcmp(key, verify->header_key_text) != 0)) {
		verify->foreign_header_place = line->place;
		verify->key_is_foreign = strcmp(run, verify->run) == 0;
	}
}

/* Keeps what the trailer says of the log, to be compared with what was read. */
static void verify_read_trailer(struct verify *verify, const json_t *json, const char *text, size_t len)
{
	const char *digits = text + len - 3 - SIGN_SIGNATURE_DIGITS;
	uint8_t decoded[SIGNING_SIGNATURE_BYTES + 4];

	verify->has_trailer = true;
	verify->trailer_records = (uint64_t)json_integer_value(json_object_get(json, "records"));
	verify->trailer_file_number = (unsigned)json_integer_value(json_object_get(json, "file"));
	verify->recovered = (uint64_t)json_integer_value(json_object_get(json, "recovered"));
	memcpy(verify->trailer_hash, text + len - SIGN_TRAILER_END_BYTES + sizeof(SIGN_HEAD_JSON_KEY) - 1, HASH_DIGITS);
	verify->is_signed = memcmp(digits, SIGN_SIGNATURE_BLANK, SIGN_SIGNATURE_DIGITS) != 0;
	if (signing_read_base64(digits, SIGN_SIGNATURE_DIGITS, decoded, sizeof(decoded)) == SIGNING_SIGNATURE_BYTES)
		memcpy(verify->trailer_signature, decoded, SIGNING_SIGNATURE_BYTES);
}

/* Whether a line ends as a trailer does: with the keys of the head hash and of the signature at their places. */
static bool verify_ends_as_trailer(const char *text, size_t len)
{
	const char *end = text + len - SIGN_TRAILER_END_BYTES;

	return len > SIGN_TRAILER_END_BYTES && memcmp(end, SIGN_HEAD_JSON_KEY, sizeof(SIGN_HEAD_JSON_KEY) - 1) == 0 &&
	       memcmp(end + sizeof(SIGN_HEAD_JSON_KEY) - 1 + HASH_DIGITS, SIGN_SIGNATURE_JSON_KEY,
		      sizeof(SIGN_SIGNATURE_JSON_KEY) - 1) == 0 &&
	       memcmp(text + len - 3, "\"}\n", 3) == 0;
}

/*
 * Whether the hash that a trailer has of itself is right. prev: computes it as if the trailer had this hash of the line
 * before; NULL: the trailer as it is.
 */
static bool verify_trailer_hash_is_right(const char *text, size_t len, const char *prev, uint64_t seq)
{
	size_t start = hash_get_prev_offset(seq), bytes = len - SIGN_TRAILER_END_BYTES;
	char digits[HASH_DIGITS];
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;

	if (!verify_ends_as_trailer(text, len) || len < SIGN_TRAILER_END_BYTES + start + HASH_DIGITS)
		return false;
	sha256_init(&context);
	sha256_update(&context, start, (const uint8_t *)text);
	sha256_update(&context, HASH_DIGITS, (const uint8_t *)(prev ? prev : text + start));
	sha256_update(&context, bytes - start - HASH_DIGITS, (const uint8_t *)text + start + HASH_DIGITS);
	sha256_digest(&context, sizeof(digest), digest);
	hash_put_digits(digits, digest);
	return memcmp(digits, text + bytes + sizeof(SIGN_HEAD_JSON_KEY) - 1, HASH_DIGITS) == 0;
}

/* ---- the chain ---- */

bool verify_last_line_has_hash(struct verify *verify, const char digits[HASH_DIGITS])
{
	return memcmp(digits, verify->last_line.hash, HASH_DIGITS) == 0 ||
	       memcmp(digits, verify_get_hash_without_outcome(&verify->last_line), HASH_DIGITS) == 0;
}

/* Remembers the line at which the chain breaks, and what may explain the break. */
static void verify_remember_break(struct verify *verify, struct verify_line *line, const char *text, size_t len)
{
	size_t start = hash_get_prev_offset(line->place.seq);
	char run[sizeof(verify->run)];
	struct sha256_ctx context;
	uint8_t digest[SHA256_DIGEST_SIZE];

	verify->is_broken = true;
	verify->broken_line = *line;
	memcpy(verify->expected_hash, verify->last_line.hash, HASH_DIGITS);
	if (!line->begins_like_log_line)
		return;
	sha256_init(&context);
	sha256_update(&context, start, (const uint8_t *)text);
	sha256_update(&context, HASH_DIGITS, (const uint8_t *)verify->expected_hash);
	sha256_update(&context, len - start - HASH_DIGITS, (const uint8_t *)text + start + HASH_DIGITS);
	sha256_digest(&context, sizeof(digest), digest);
	hash_put_digits(verify->repaired_hash, digest);
	if (line->header) {
		json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);

		verify->broken_header_file_number = (unsigned)json_integer_value(json_object_get(json, "file"));
		verify_copy_text(json, "run", run, sizeof(run));
		verify->broken_header_is_of_other_run = verify->lines > 0 && run[0] && strcmp(run, verify->run) != 0;
		json_decref(json);
	}
	verify->would_be_trailer_if_repaired =
		line->trailer && verify_trailer_hash_is_right(text, len, verify->expected_hash, line->place.seq);
}

/* Collects what the lines behind the break tell about it. */
static void verify_add_line_after_break(struct verify *verify, struct verify_line *line)
{
	uint64_t want = verify->last_line.place.seq + 1, had = verify->broken_line.place.seq;

	if (!verify->has_line_after_broken) {
		verify->line_after_broken = *line;
		verify->has_line_after_broken = true;
	}
	if (!line->begins_like_log_line)
		return;
	if (verify->later_follows_last && line->place.seq == had)
		verify->broken_seq_occurs_again = true;
	if (line->place.seq == want && verify_last_line_has_hash(verify, line->hash_of_previous))
		verify->later_follows_last = true;
	if (verify->broken_line.begins_like_log_line && line->place.seq >= want && line->place.seq < had)
		verify->skipped_seq_comes_later = true;
}

/* Keeps the text of the last line. 0 or -ENOMEM. */
static int verify_copy_line_text(struct verify *verify, const char *text, size_t len)
{
	if (len > verify->text_cap) {
		char *copy = realloc(verify->last_line_text, 2 * len);

		if (!copy)
			return -ENOMEM;
		verify->last_line_text = copy;
		verify->text_cap = 2 * len;
	}
	memcpy(verify->last_line_text, text, len);
	verify->text_len = len;
	return 0;
}

/* Adds a line that continues the chain. */
static int verify_append_to_chain(struct verify *verify, struct verify_line *line, struct verify_cursor rest,
				  const char *text, size_t len)
{
	bool late = !line->has_hash_blank && memcmp(line->hash_of_previous, verify->last_line.hash, HASH_DIGITS) != 0;
	json_t *json = NULL;
	int r = late ? verify_add_late_outcome(verify) : 0;

	if (r == 0)
		r = verify_copy_line_text(verify, text, len);
	if (line->header || line->trailer || line->next)
		json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (!line->has_hash_blank)
		verify->sealed_line_count = verify->lines;
	if (line->has_hash_blank && verify->hash_blank_line_count++ == 0) {
		verify->first_hash_blank_line = line->place;
		memcpy(verify->hash_before_blank, verify->last_line.hash, HASH_DIGITS);
	}
	verify_read_outcomes(verify, rest);
	if (line->header && json)
		verify_read_header(verify, line, json);
	else if (line->trailer && line->trailer_hash_is_right)
		verify_read_trailer(verify, json, text, len);
	verify->next_file_name[0] = '\0';
	if (line->next)
		verify_copy_text(json, "next", verify->next_file_name, sizeof(verify->next_file_name));
	json_decref(json);
	verify->records += !line->header && !line->trailer && !line->next;
	verify->lines++;
	memcpy(verify->previous_hash, line->hash_of_previous, HASH_DIGITS);
	verify->last_line = *line;
	return r;
}

/*
 * Whether the line may follow the last one: its number, its place in the file, and the hash of the last line are right.
 */
static bool verify_line_continues_chain(struct verify *verify, const struct verify_line *line)
{
	if (!line->begins_like_log_line || verify->has_trailer || line->place.seq != verify->last_line.place.seq + 1 ||
	    (line->place.line_number == 1 && !line->header)) /* each file begins with a header */
		return false;
	if (line->has_hash_blank)
		return verify->hash_blank_line_count < CHAIN_UNSEALED_LINES_MAX && !line->trailer;
	if (verify->hash_blank_line_count > 0) /* the writer would have replaced the blanks of earlier lines first */
		return false;
	return verify_last_line_has_hash(verify, line->hash_of_previous);
}

void verify_start_at_header(struct verify *verify, const char *text, size_t len)
{
	struct verify_line line = {.begins_like_log_line = false};
	struct verify_cursor rest;

	verify_parse_line(&line, text, len, verify->last_line.hash, &rest);
	if (!line.begins_like_log_line)
		return;
	verify->last_line.place.seq = line.place.seq - 1;
	memcpy(verify->last_line.hash, line.hash_of_previous, HASH_DIGITS);
}

/* Begins another file of the same log. */
void verify_begin_file(struct verify *verify)
{
	verify->file_count++;
	verify->line_number = 0;
}

void verify_end_file(struct verify *verify, uint64_t torn)
{
	verify->torn_bytes = torn;
	if (verify->line_number == 0)
		/* the next file exists, but is empty: its writer was killed before it wrote the header */
		verify->next_file_name[0] = '\0';
}

int verify_add_line(struct verify *verify, const char *text, size_t len)
{
	struct verify_line line;
	struct verify_cursor rest;

	memset(&line, 0, offsetof(struct verify_line, hash_of_previous));
	line.has_hash_without_outcome = false;
	line.place.file_index = verify->file_count - 1;
	line.place.line_number = ++verify->line_number;
	verify->bytes += len;
	verify_parse_line(&line, text, len, verify->last_line.hash, &rest);
	verify_hash_line(&line, text, len);
	line.ends_like_trailer = verify_ends_as_trailer(text, len);
	if (line.trailer)
		line.trailer_hash_is_right = verify_trailer_hash_is_right(text, len, NULL, line.place.seq);
	line.has_nul_bytes = memchr(text, '\0', len) != NULL;
	if (line.has_nul_bytes)
		line.begins_like_log_line = line.lacks_hash = false;
	if (verify->is_broken) {
		verify_add_line_after_break(verify, &line);
		return 0;
	}
	if (verify_line_continues_chain(verify, &line))
		return verify_append_to_chain(verify, &line, rest, text, len);
	verify_remember_break(verify, &line, text, len);
	return 0;
}
