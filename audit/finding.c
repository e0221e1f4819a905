/* Tells what happened to a log, from what verify.c has collected. */
#include <jansson.h>
#include <string.h>

#include "audit/encode.h"
#include "audit/verify.h"

static bool finding_is_same(const char *one, const char *other)
{
	return memcmp(one, other, HASH_DIGITS) == 0;
}

/* Whether the line behind, or its own hash if it is the trailer, confirms the line where the chain breaks. */
static bool finding_is_confirmed(const struct verify *verify)
{
	const struct verify_line *broken = &verify->broken;

	if (verify->has_after && verify->after.known)
		return finding_is_same(verify->after.prev, broken->hash);
	return broken->trailer && broken->sound;
}

/* Whether it would be confirmed if it had the right hash of the line before: then only that hash was edited. */
static bool finding_is_confirmed_when_repaired(const struct verify *verify)
{
	if (verify->has_after && verify->after.known)
		return finding_is_same(verify->after.prev, verify->repaired);
	return verify->repaired_trailer;
}

static struct verify_finding finding_make(enum verify_kind kind, struct verify_place place)
{
	return (struct verify_finding){.kind = kind, .place = place};
}

static struct verify_finding finding_make_missing(enum verify_kind kind, struct verify_place place, uint64_t first,
						  uint64_t end)
{
	return (struct verify_finding){.kind = kind, .place = place, .first = first, .last = end - 1};
}

/* The break is at a text that is no line of a log. */
static struct verify_finding finding_explain_unknown(const struct verify *verify, uint64_t want)
{
	struct verify_place place = verify->broken.place;
	const struct verify_line *after = &verify->after;

	bool unhashed = verify->broken.unhashed && place.seq == want;

	place.seq = want;
	if (verify->has_after && after->known && after->place.seq > want + 1)
		return finding_make_missing(VERIFY_LOST_SEGMENT, place, want, after->place.seq);
	if (unhashed)
		return finding_make(VERIFY_UNHASHED, place);
	return finding_make(VERIFY_EDITED, place);
}

/* The break is at a line with a number that was there before. */
static struct verify_finding finding_explain_lower(const struct verify *verify, uint64_t want)
{
	const struct verify_line *broken = &verify->broken, *after = &verify->after;

	if (broken->place.seq == verify->last.place.seq && finding_is_same(broken->prev, verify->previous_hash))
		return finding_make(VERIFY_INSERTED,
				    finding_is_confirmed(verify) ? verify->last.place : broken->place);
	if (finding_is_same(broken->prev, verify->expected) ||
	    (verify->has_after && after->known && after->place.seq == want + 1))
		return finding_make(VERIFY_EDITED, broken->place);
	return finding_make(VERIFY_INSERTED, broken->place);
}

/* The break is at a line with a higher number than the next one. */
static struct verify_finding finding_explain_higher(const struct verify *verify, uint64_t want)
{
	const struct verify_line *broken = &verify->broken, *after = &verify->after;
	bool goes_on = verify->has_after && after->known && after->place.seq == want + 1;

	if (goes_on || (finding_is_same(broken->prev, verify->expected) && !verify->has_after))
		return finding_make(VERIFY_EDITED, broken->place);
	if (verify->moved)
		return finding_make(VERIFY_REORDERED, broken->place);
	if (broken->header && broken->place.number == 1 &&
	    verify->broken_file > (verify->lines > 0 ? verify->file_number + 1 : 0))
		return finding_make_missing(VERIFY_LOST_FILE, broken->place, want, broken->place.seq);
	return finding_make_missing(VERIFY_DELETED, broken->place, want, broken->place.seq);
}

/* The line has the right number, but not the hash of the line before: one of the two was edited. */
static struct verify_finding finding_explain_hash(const struct verify *verify, uint64_t want)
{
	if (want == 0 || finding_is_confirmed_when_repaired(verify))
		return finding_make(VERIFY_EDITED, verify->broken.place);
	return finding_make(VERIFY_EDITED, verify->last.place);
}

static struct verify_finding finding_explain_blank(const struct verify *verify)
{
	const struct verify_line *broken = &verify->broken;
	bool again = broken->place.seq == verify->first_blank.seq &&
		     finding_is_same(broken->prev, verify->before_blank);

	return finding_make(again ? VERIFY_INSERTED : VERIFY_UNHASHED, verify->first_blank);
}

static struct verify_finding finding_explain_break(const struct verify *verify)
{
	const struct verify_line *broken = &verify->broken;
	uint64_t want = verify->last.place.seq + 1;

	if (verify->ended)
		return finding_make(VERIFY_INSERTED, broken->place);
	if (verify->blanks > 0 && broken->known && broken->place.seq <= want)
		return finding_explain_blank(verify);
	if (verify->broken_foreign)
		return finding_make(VERIFY_FOREIGN_FILE, broken->place);
	if (verify->successor)
		return finding_make(broken->known && broken->place.seq > want && !verify->again ? VERIFY_REORDERED
												: VERIFY_INSERTED,
				    broken->place);
	if (!broken->known)
		return finding_explain_unknown(verify, want);
	if (broken->blank && broken->place.seq == want)
		return finding_make(VERIFY_UNHASHED, broken->place);
	if (broken->place.seq == want)
		return finding_explain_hash(verify, want);
	return broken->place.seq < want ? finding_explain_lower(verify, want) : finding_explain_higher(verify, want);
}

/* The signature of a log that is complete and in order. */
static enum verify_kind finding_check_signature(const struct verify *verify, const uint8_t *key)
{
	struct sign_subject subject = {.run = verify->run,
				       .file = verify->trailer_file,
				       .records = verify->trailer_records,
				       .head = verify->head};
	uint8_t named[SIGNING_KEY_BYTES];
	char text[SIGN_TEXT_MAX];
	size_t len = sign_write_text(&subject, text);
	bool has_key = signing_parse_public(verify->key_text, strlen(verify->key_text), named) == 0;

	if (!verify->is_signed || !has_key)
		return VERIFY_UNSIGNED;
	if (key && memcmp(key, named, sizeof(named)) != 0)
		return VERIFY_FOREIGN_KEY;
	return len > 0 && signing_verify(named, text, len, verify->signature) ? VERIFY_INTACT : VERIFY_SIGNATURE;
}

/* Whether the last line is as a killed writer leaves it: JSON, with an outcome if it is a record. */
static bool finding_ends_well(const struct verify *verify)
{
	static const char ns[] = ",\"ns\":";
	const char *ret = verify->text + verify->text_len - AUDIT_OUTCOME_BYTES - 2;
	json_t *json;

	if (verify->lines == 0)
		return true;
	json = json_loadb(verify->text, verify->text_len, 0, NULL);
	json_decref(json);
	if (!json || verify->last.header || verify->last.next)
		return json != NULL;
	return verify->text_len > AUDIT_OUTCOME_BYTES + 2 &&
	       memcmp(ret + AUDIT_OUTCOME_NS_OFFSET - sizeof(ns) + 1, ns, sizeof(ns) - 1) == 0;
}

struct verify_finding verify_finish(const struct verify *verify, const uint8_t *key, uint64_t *ret_tail)
{
	const struct verify_place nowhere = {0};
	/* The end of a line is on file before its beginning when its writer was killed: it has NUL, and is the last. */
	bool torn = verify->is_broken && verify->broken.broken && !verify->has_after && !verify->ended;

	*ret_tail = verify->ended ? 0 : verify->lines - verify->sealed;
	if (verify->is_broken && !torn)
		return finding_explain_break(verify);
	if (verify->edited.number > 0)
		return finding_make(VERIFY_EDITED, verify->edited);
	if (verify->foreign.number > 0)
		return finding_make(verify->foreign_key ? VERIFY_FOREIGN_KEY : VERIFY_FOREIGN_FILE, verify->foreign);
	if (verify->last.trailer ? !verify->last.sound : verify->last.signed_end)
		return finding_make(VERIFY_EDITED, verify->last.place);
	if (verify->next_name[0] && verify->torn == 0)
		return finding_make(VERIFY_LOST_FILE, nowhere);
	if (!verify->ended)
		return finding_ends_well(verify) ? finding_make(VERIFY_OPEN_END, nowhere)
					       : finding_make(VERIFY_EDITED, verify->last.place);
	if (verify->torn > 0)
		return finding_make(VERIFY_INSERTED, (struct verify_place){.file = verify->files - 1,
									   .number = verify->number + 1});
	if (verify->late_count > 0 && verify->recovered == 0)
		return finding_make(VERIFY_EDITED, verify->late[0].place);
	return finding_make(finding_check_signature(verify, key), nowhere);
}
