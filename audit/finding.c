/* Determines what happened to a log from what verify.c has collected. */
#include <jansson.h>
#include <string.h>

#include "audit/encode.h"
#include "audit/verify.h"

static bool finding_hashes_are_equal(const char *one, const char *other)
{
	return memcmp(one, other, HASH_DIGITS) == 0;
}

/*
 * Whether the line where the chain breaks is confirmed: by the hash in the next line, or, for a trailer, by its own
 * hash.
 */
static bool finding_broken_line_is_confirmed(const struct verify *verify)
{
	const struct verify_line *broken = &verify->broken_line;

	if (verify->has_line_after_broken && verify->line_after_broken.begins_like_log_line)
		return finding_hashes_are_equal(verify->line_after_broken.hash_of_previous, broken->hash);
	return broken->trailer && broken->trailer_hash_is_right;
}

/*
 * Whether the line where the chain breaks would be confirmed if it had the right hash of the line before it. Then only
 * that hash was edited.
 */
static bool finding_repaired_line_is_confirmed(const struct verify *verify)
{
	if (verify->has_line_after_broken && verify->line_after_broken.begins_like_log_line)
		return finding_hashes_are_equal(verify->line_after_broken.hash_of_previous, verify->repaired_hash);
	return verify->would_be_trailer_if_repaired;
}

static struct verify_finding finding_make(enum verify_kind kind, struct verify_place place)
{
	return (struct verify_finding){.kind = kind, .place = place};
}

static struct verify_finding finding_make_of_missing_lines(enum verify_kind kind, struct verify_place place,
							   uint64_t first, uint64_t end)
{
	return (struct verify_finding){.kind = kind, .place = place, .first = first, .last = end - 1};
}

/* Explains a break of the chain at a text that is no line of a log. */
static struct verify_finding finding_explain_unknown_line(const struct verify *verify, uint64_t want)
{
	struct verify_place place = verify->broken_line.place;
	const struct verify_line *after = &verify->line_after_broken;

	bool unhashed = verify->broken_line.lacks_hash && place.seq == want;

	place.seq = want;
	if (verify->has_line_after_broken && after->begins_like_log_line && after->place.seq > want + 1)
		return finding_make_of_missing_lines(VERIFY_LOST_SEGMENT, place, want, after->place.seq);
	if (unhashed)
		return finding_make(VERIFY_HASH_MISSING, place);
	return finding_make(VERIFY_EDITED, place);
}

/* Explains a break of the chain at a line whose number is that of an earlier line. */
static struct verify_finding finding_explain_lower_seq(const struct verify *verify, uint64_t want)
{
	const struct verify_line *broken = &verify->broken_line, *after = &verify->line_after_broken;

	if (broken->place.seq == verify->last_line.place.seq &&
	    finding_hashes_are_equal(broken->hash_of_previous, verify->previous_hash))
		return finding_make(VERIFY_INSERTED,
				    finding_broken_line_is_confirmed(verify) ? verify->last_line.place : broken->place);
	if (finding_hashes_are_equal(broken->hash_of_previous, verify->expected_hash) ||
	    (verify->has_line_after_broken && after->begins_like_log_line && after->place.seq == want + 1))
		return finding_make(VERIFY_EDITED, broken->place);
	return finding_make(VERIFY_INSERTED, broken->place);
}

/* Explains a break of the chain at a line whose number is higher than expected. */
static struct verify_finding finding_explain_higher_seq(const struct verify *verify, uint64_t want)
{
	const struct verify_line *broken = &verify->broken_line, *after = &verify->line_after_broken;
	bool goes_on = verify->has_line_after_broken && after->begins_like_log_line && after->place.seq == want + 1;

	if (goes_on || (finding_hashes_are_equal(broken->hash_of_previous, verify->expected_hash) &&
			!verify->has_line_after_broken))
		return finding_make(VERIFY_EDITED, broken->place);
	if (verify->skipped_seq_comes_later)
		return finding_make(VERIFY_REORDERED, broken->place);
	if (broken->header && broken->place.line_number == 1 &&
	    verify->broken_header_file_number > (verify->lines > 0 ? verify->file_number + 1 : 0))
		return finding_make_of_missing_lines(VERIFY_LOST_FILE, broken->place, want, broken->place.seq);
	return finding_make_of_missing_lines(VERIFY_DELETED, broken->place, want, broken->place.seq);
}

/*
 * Explains a break of the chain at a line that has the right number, but not the hash of the line before: one of the
 * two lines was edited.
 */
static struct verify_finding finding_explain_wrong_hash(const struct verify *verify, uint64_t want)
{
	if (want == 0 || finding_repaired_line_is_confirmed(verify))
		return finding_make(VERIFY_EDITED, verify->broken_line.place);
	return finding_make(VERIFY_EDITED, verify->last_line.place);
}

/* Explains a break after lines without hash: one was inserted, or a hash was removed. */
static struct verify_finding finding_explain_hash_blank(const struct verify *verify)
{
	const struct verify_line *broken = &verify->broken_line;
	bool again = broken->place.seq == verify->first_hash_blank_line.seq &&
		     finding_hashes_are_equal(broken->hash_of_previous, verify->hash_before_blank);

	return finding_make(again ? VERIFY_INSERTED : VERIFY_HASH_MISSING, verify->first_hash_blank_line);
}

/* Finds what kind of change to the log makes its chain break at verify->broken_line. */
static struct verify_finding finding_explain_break(const struct verify *verify)
{
	const struct verify_line *broken = &verify->broken_line;
	uint64_t want = verify->last_line.place.seq + 1;

	if (verify->has_trailer)
		return finding_make(VERIFY_INSERTED, broken->place);
	if (verify->hash_blank_line_count > 0 && broken->begins_like_log_line && broken->place.seq <= want)
		return finding_explain_hash_blank(verify);
	if (verify->broken_header_is_of_other_run)
		return finding_make(VERIFY_FOREIGN_FILE, broken->place);
	if (verify->later_follows_last)
		return finding_make(broken->begins_like_log_line && broken->place.seq > want &&
						    !verify->broken_seq_occurs_again
					    ? VERIFY_REORDERED
					    : VERIFY_INSERTED,
				    broken->place);
	if (!broken->begins_like_log_line)
		return finding_explain_unknown_line(verify, want);
	if (broken->has_hash_blank && broken->place.seq == want)
		return finding_make(VERIFY_HASH_MISSING, broken->place);
	if (broken->place.seq == want)
		return finding_explain_wrong_hash(verify, want);
	return broken->place.seq < want ? finding_explain_lower_seq(verify, want)
					: finding_explain_higher_seq(verify, want);
}

/* Checks the signature of a log that is complete and in order. */
static enum verify_kind finding_check_signature(const struct verify *verify, const uint8_t *key)
{
	struct sign_subject subject = {.run = verify->run,
				       .file_number = verify->trailer_file_number,
				       .record_count = verify->trailer_records,
				       .trailer_hash = verify->trailer_hash};
	uint8_t named[SIGNING_KEY_BYTES];
	char text[SIGN_SUBJECT_TEXT_SIZE];
	size_t len = sign_write_subject(&subject, text);
	bool has_key = signing_parse_public(verify->header_key_text, strlen(verify->header_key_text), named) == 0;

	if (!verify->is_signed || !has_key)
		return VERIFY_UNSIGNED;
	if (key && memcmp(key, named, sizeof(named)) != 0)
		return VERIFY_FOREIGN_KEY;
	return len > 0 && signing_verify(named, text, len, verify->trailer_signature) ? VERIFY_INTACT
										      : VERIFY_BAD_SIGNATURE;
}

/* Whether the last line is one that a killed writer may leave: valid JSON, with an outcome if it is a record. */
static bool finding_last_line_is_whole(const struct verify *verify)
{
	static const char ns[] = ",\"ns\":";
	const char *ret = verify->last_line_text + verify->text_len - AUDIT_OUTCOME_BYTES - 2;
	json_t *json;

	if (verify->lines == 0)
		return true;
	json = json_loadb(verify->last_line_text, verify->text_len, 0, NULL);
	json_decref(json);
	if (!json || verify->last_line.header || verify->last_line.next)
		return json != NULL;
	return verify->text_len > AUDIT_OUTCOME_BYTES + 2 &&
	       memcmp(ret + AUDIT_OUTCOME_NS_OFFSET - sizeof(ns) + 1, ns, sizeof(ns) - 1) == 0;
}

struct verify_finding verify_get_finding(const struct verify *verify, const uint8_t *key, uint64_t *ret_tail)
{
	const struct verify_place nowhere = {0};
	/*
	 * A killed writer may have stored the end of a line before its beginning: such a line has NUL bytes, and is the
	 * last one.
	 */
	bool torn = verify->is_broken && verify->broken_line.has_nul_bytes && !verify->has_line_after_broken &&
		    !verify->has_trailer;

	*ret_tail = verify->has_trailer ? 0 : verify->lines - verify->sealed_line_count;
	if (verify->is_broken && !torn)
		return finding_explain_break(verify);
	if (verify->first_edited_record.line_number > 0)
		return finding_make(VERIFY_EDITED, verify->first_edited_record);
	if (verify->foreign_header_place.line_number > 0)
		return finding_make(verify->key_is_foreign ? VERIFY_FOREIGN_KEY : VERIFY_FOREIGN_FILE,
				    verify->foreign_header_place);
	if (verify->last_line.trailer ? !verify->last_line.trailer_hash_is_right : verify->last_line.ends_like_trailer)
		return finding_make(VERIFY_EDITED, verify->last_line.place);
	if (verify->next_file_name[0] && verify->torn_bytes == 0)
		return finding_make(VERIFY_LOST_FILE, nowhere);
	if (!verify->has_trailer)
		return finding_last_line_is_whole(verify) ? finding_make(VERIFY_NO_TRAILER, nowhere)
							  : finding_make(VERIFY_EDITED, verify->last_line.place);
	if (verify->torn_bytes > 0)
		return finding_make(VERIFY_INSERTED, (struct verify_place){.file_index = verify->file_count - 1,
									   .line_number = verify->line_number + 1});
	if (verify->late_count > 0 && verify->recovered == 0)
		return finding_make(VERIFY_EDITED, verify->late_outcome[0].place);
	return finding_make(finding_check_signature(verify, key), nowhere);
}
