/*
 * The signature of a log, by the key of the run. It signs the hash of the trailer with the run id and the numbers of
 * the file and of the records, so that it is valid for no other log. The keeper signs after the supervisor, which has
 * no private key, has ended the log.
 */
#ifndef CALLGATE_AUDIT_SIGN_H
#define CALLGATE_AUDIT_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/hash.h"
#include "base/signing.h"

#define SIGN_SIGNATURE_DIGITS (SIGNING_SIGNATURE_BASE64_SIZE - 1)
/* what a trailer has in place of its signature until it is signed */
#define SIGN_SIGNATURE_BLANK                       \
	"----------------------------------------" \
	"------------------------------------------------"
_Static_assert(sizeof(SIGN_SIGNATURE_BLANK) == SIGNING_SIGNATURE_BASE64_SIZE, "a blank is as long as a signature");

#define SIGN_HEAD_JSON_KEY ",\"head\":\""
#define SIGN_SIGNATURE_JSON_KEY "\",\"signature\":\""
/* Length of what ends every trailer: the fields with its own hash ("head") and the signature, "}" and the newline. */
#define SIGN_TRAILER_END_BYTES \
	(sizeof(SIGN_HEAD_JSON_KEY) - 1 + HASH_DIGITS + sizeof(SIGN_SIGNATURE_JSON_KEY) - 1 + SIGN_SIGNATURE_DIGITS + 3)

#define SIGN_SUBJECT_TEXT_SIZE 512

/* What is signed. */
struct sign_subject {
	const char *run; /* the whole run id */
	unsigned file_number;     /* number of the file that has the trailer */
	uint64_t record_count;    /* records of the whole log */
	const char *trailer_hash; /* HASH_DIGITS digits */
};

/* Writes the text that is signed. Returns its length; 0: the run id is too long. */
size_t sign_write_subject(const struct sign_subject *subject, char out[SIGN_SUBJECT_TEXT_SIZE]);

/* Where the log ends: what the result of the run and the last checkpoint in the log tell of it. */
struct signed_log_end {
	uint64_t line_count; /* of all files */
	uint64_t record_count;              /* of all files */
	char trailer_hash[HASH_DIGITS + 1]; /* hash of the trailer, as it is on file */
};

/* True when a line, without its newline, is a trailer that has no signature yet, or got none. */
bool sign_trailer_is_unsigned(const char *line, size_t len);

/*
 * Signs the trailer, which must be the last line of the file and have no signature. 0, or -errno: -EBADMSG when there
 * is no such trailer. Borrows fd, which is open for reading and writing.
 */
int sign_trailer(int fd, const struct signing_key *key, const char *run, struct signed_log_end *ret_end);

#endif
