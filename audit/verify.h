/*
 * Checks the chain of a log, line by line, in memory that does not grow with the log. It finds the first broken line,
 * and goes on reading to tell what happened there. For `callgate audit verify`, replay and recover.c. The contents are
 * not trusted. callgate-audit(5), CHAIN, says what is checked.
 */
#ifndef CALLGATE_AUDIT_VERIFY_H
#define CALLGATE_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/hash.h"
#include "audit/sign.h"
#include "base/signing.h"

enum verify_kind {
	VERIFY_INTACT,       /* the line is as callgate wrote it */
	VERIFY_EDITED,       /* the line is not the one that was written */
	VERIFY_DELETED,      /* lines are missing */
	VERIFY_INSERTED,     /* the line was not written by callgate, or stands here a second time */
	VERIFY_REORDERED,    /* the line stands before one that was written earlier */
	VERIFY_LOST_SEGMENT, /* a piece of the file is missing, from the middle of one line to that of another */
	VERIFY_LOST_FILE,    /* a file of a rotated log is missing */
	/* the line lacks the hash of the line before, and is not among the last lines of a killed writer */
	VERIFY_HASH_MISSING,
	VERIFY_FOREIGN_FILE,  /* the file belongs to another run */
	VERIFY_REWRITTEN,     /* the log is not the one that was anchored */
	VERIFY_FOREIGN_KEY,   /* the log was signed with another key */
	VERIFY_BAD_SIGNATURE, /* the signature is wrong */
	VERIFY_TRUNCATED,     /* the anchor proves that there were more lines */
	VERIFY_NO_TRAILER,    /* no trailer: the writer was killed or the end was cut off, which look the same */
	VERIFY_UNSIGNED,      /* complete, but without a signature: killed before it was signed, or rewritten */
	VERIFY_KIND_MAX,
};

/* Returns the name for programs, such as "lost_file". */
const char *verify_kind_get_name(enum verify_kind kind);

/* The place of a line in a log. */
struct verify_place {
	unsigned file_index;   /* how often verify_begin_file was called before */
	uint64_t line_number; /* number of the line in its file, from 1 */
	uint64_t seq;
};

/* What is known of a line. */
struct verify_line {
	struct verify_place place;
	bool begins_like_log_line; /* the line begins with {"seq":, a number and the field of a hash */
	bool lacks_hash;           /* the line begins with a number, but has no hash */
	bool has_hash_blank;       /* the line has HASH_BLANK in place of the hash */
	bool header, trailer, next;
	bool has_nul_bytes;                 /* the line has NUL bytes: it was being written */
	bool trailer_hash_is_right;         /* the line is a trailer, and the hash that it states of itself is right */
	bool ends_like_trailer;             /* the line ends like a trailer: with a hash and a signature */
	char hash_of_previous[HASH_DIGITS]; /* the hash of the line before, as this line has it */
	char hash[HASH_DIGITS];             /* hash of the line itself */
	/* hash of the line without its outcome; valid if has_hash_without_outcome */
	char hash_without_outcome[HASH_DIGITS];
	bool has_hash_without_outcome;
	struct sha256_ctx hash_state_before_outcome; /* state of the hash before the outcome is added */
};

/* A late outcome whose hash no later line has had yet. */
struct verify_late_outcome {
	struct verify_place place;
	char hash[HASH_DIGITS];
};

#define VERIFY_LATE_OUTCOMES_MAX 65536u /* most sealed records that may wait for the hash of their late outcome */

/* The state of verifying a log, line by line. */
struct verify {
	struct verify_line last_line;   /* the last line of the unbroken part */
	struct verify_line broken_line; /* the line after `last_line`, at which the chain breaks */
	bool is_broken;                 /* broken_line is valid */
	char *last_line_text; /* of `last_line`; owned */
	size_t text_len, text_cap;
	char expected_hash[HASH_DIGITS]; /* the hash of `last_line`, which the next line should have had */
	char repaired_hash[HASH_DIGITS]; /* hash that `broken_line` would have if it had `expected_hash` */
	/* line `broken_line` would be an intact trailer (the last line of a log) if its "prev" were `expected_hash` */
	bool would_be_trailer_if_repaired;
	unsigned broken_header_file_number;   /* if `broken_line` is a header: the file number that it states */
	bool broken_header_is_of_other_run;   /* `broken_line` is a header that names another run */
	struct verify_line line_after_broken; /* the line after `broken_line` */
	/*
	 * Of the lines after `broken_line`: there is one; one has the number and hash of the line that should follow
	 * `last_line`; after that one, the number of `broken_line` comes again; one has a number that was skipped.
	 */
	bool has_line_after_broken, later_follows_last, broken_seq_occurs_again, skipped_seq_comes_later;
	uint64_t lines, records, bytes;
	uint64_t sealed_line_count;               /* lines whose hash a later line has */
	/* how many lines at the end have HASH_BLANK in place of a hash */
	uint64_t hash_blank_line_count;
	struct verify_place first_hash_blank_line; /* the first line at the end that has HASH_BLANK */
	char hash_before_blank[HASH_DIGITS]; /* the hash that `first_hash_blank_line` should have */
	unsigned file_count;                 /* files that were begun */
	uint64_t line_number; /* number of the line that was added last, counted in its file */
	uint64_t torn_bytes;  /* length of an incomplete line at the end */
	char run[129];
	char previous_hash[HASH_DIGITS]; /* the hash of the line before `last_line`, as `last_line` has it */
	char header_key_text[SIGNING_KEY_BASE64_SIZE]; /* the key that the header names; "": none */
	unsigned file_number;            /* "file" of the last header */
	char next_file_name[256];             /* the file that the last line names as the next one */
	struct verify_place foreign_header_place; /* number 0: none */
	bool key_is_foreign; /* the header at foreign_header_place has another key, not another run */
	struct verify_late_outcome *late_outcome; /* outcomes that came after their record was hashed; owned */
	size_t late_count, late_cap;
	/* a record whose late outcome is not the one that was hashed; number 0: none */
	struct verify_place first_edited_record;
	/* The trailer. */
	bool has_trailer, is_signed;
	uint64_t trailer_records, recovered;
	unsigned trailer_file_number; /* "file" of the trailer */
	char trailer_hash[HASH_DIGITS];
	uint8_t trailer_signature[SIGNING_SIGNATURE_BYTES];
};

/* What verifying a log has found. */
struct verify_finding {
	enum verify_kind kind;
	struct verify_place place; /* number 0: no line in particular */
	uint64_t first, last;      /* of missing lines */
};

#define VERIFY_FINDING_TEXT_SIZE 256 /* no text of verify_describe_finding() is longer */

/* Describes a finding for people, such as "line with seq 5 was edited". */
void verify_describe_finding(const struct verify_finding *finding, char out[VERIFY_FINDING_TEXT_SIZE]);

void verify_init(struct verify *verify);
void verify_release(struct verify *verify);

void verify_begin_file(struct verify *verify);
/*
 * Starts the check at a header whose earlier files are not read: the number and the hash of the line before that the
 * header states are trusted.
 */
void verify_start_at_header(struct verify *verify, const char *text, size_t len);
/* Adds the next line, with its newline. 0 or -ENOMEM. */
int verify_add_line(struct verify *verify, const char *text, size_t len);
/*
 * Ends a file. torn: length of the incomplete line at its end. A file without any line may be one whose writer was
 * killed before the header.
 */
void verify_end_file(struct verify *verify, uint64_t torn);

/*
 * Returns what was found. key: the public key of the signature; NULL: the key that the header names. *ret_tail: the
 * number of lines whose hash no later line has, as a killed writer leaves them.
 */
struct verify_finding verify_get_finding(const struct verify *verify, const uint8_t *key, uint64_t *ret_tail);

/*
 * Whether the last line has this hash, with or without its outcome. For checkpoints, which name the hash at their time.
 */
bool verify_last_line_has_hash(struct verify *verify, const char digits[HASH_DIGITS]);

#endif
