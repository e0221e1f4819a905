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
	VERIFY_INTACT,
	VERIFY_EDITED,       /* the line is not the one that was written */
	VERIFY_DELETED,      /* lines are missing */
	VERIFY_INSERTED,     /* the line was not written by callgate, or stands here a second time */
	VERIFY_REORDERED,    /* the line stands before one that was written earlier */
	VERIFY_LOST_SEGMENT, /* a piece of the file is missing, from the middle of one line to that of another */
	VERIFY_LOST_FILE,    /* a file of a rotated log is missing */
	VERIFY_UNHASHED,     /* the line lacks the hash of the line before, and is not at the end of a killed writer */
	VERIFY_FOREIGN_FILE, /* the file belongs to another run */
	VERIFY_REWRITTEN,    /* the log is not the one that was anchored */
	VERIFY_FOREIGN_KEY,  /* it was signed with another key */
	VERIFY_SIGNATURE,    /* the signature is wrong */
	VERIFY_TRUNCATED,    /* the anchor proves that there were more lines */
	VERIFY_OPEN_END,     /* no trailer: killed, or cut off; it cannot be told */
	VERIFY_UNSIGNED,     /* complete, without a signature: killed before it was signed, or rewritten */
	VERIFY_KIND_MAX,
};

/* Returns the name for programs, such as "lost_file". */
const char *verify_get_name(enum verify_kind kind);

struct verify_place {
	unsigned file;   /* how many verify_begin_file calls were before */
	uint64_t number; /* of the line in the file, from 1 */
	uint64_t seq;
};

/* What is known of a line. */
struct verify_line {
	struct verify_place place;
	bool known;      /* it begins as each line of a log */
	bool unhashed;   /* it begins with a number, but has no hash */
	bool blank;      /* the space for the hash is not filled in */
	bool header, trailer, next;
	bool broken;     /* has NUL: a line that was being written */
	bool sound;      /* of a trailer: it has its own hash */
	bool signed_end; /* it ends as a trailer */
	char prev[HASH_DIGITS];       /* the hash of the line before, as it says */
	char hash[HASH_DIGITS];       /* its own */
	char unfinished[HASH_DIGITS]; /* its own without the outcome; valid if has_unfinished */
	bool has_unfinished;
	struct sha256_ctx before; /* the hash up to the outcome */
};

struct verify_late {
	struct verify_place place;
	char hash[HASH_DIGITS];
};

#define VERIFY_LATE_MAX 65536u

struct verify {
	struct verify_line last;   /* the last line of the unbroken part */
	struct verify_line broken; /* the line behind it, where the chain breaks */
	bool is_broken;
	char *text; /* of `last`; owned */
	size_t text_len, text_cap;
	char expected[HASH_DIGITS]; /* the hash that `last` has for the line behind it */
	char repaired[HASH_DIGITS]; /* the hash of `broken`, if it had `expected` */
	bool repaired_trailer;      /* a trailer with `expected` has its own hash */
	unsigned broken_file;       /* "file" of a header that is `broken` */
	bool broken_foreign;        /* that header names another run */
	struct verify_line after;   /* the line behind `broken` */
	bool has_after, successor, again, moved; /* successor: a later line follows `last` */
	uint64_t lines, records, bytes;
	uint64_t sealed;                  /* lines whose hash another line has */
	uint64_t blanks;                  /* lines with a blank at the end so far */
	struct verify_place first_blank;  /* the first of them */
	char before_blank[HASH_DIGITS];   /* the hash that it should have */
	unsigned files;
	uint64_t number; /* of the line that was added last, in its file */
	uint64_t torn;
	char run[129];
	char previous_hash[HASH_DIGITS]; /* the hash in `last`, of the line before it */
	char key_text[SIGNING_KEY_TEXT]; /* the key that the header names; "": none */
	unsigned file_number;            /* "file" of the last header */
	char next_name[256];             /* the file that the last line names */
	struct verify_place foreign;     /* number 0: none */
	bool foreign_key;
	struct verify_late *late; /* outcomes that came after the hash; owned */
	size_t late_count, late_cap;
	struct verify_place edited; /* a record whose late outcome is not the one that was hashed; number 0: none */
	/* The trailer. */
	bool ended, is_signed;
	uint64_t trailer_records, recovered;
	unsigned trailer_file;
	char head[HASH_DIGITS];
	uint8_t signature[SIGNING_SIGNATURE_BYTES];
};

struct verify_finding {
	enum verify_kind kind;
	struct verify_place place; /* number 0: no line in particular */
	uint64_t first, last;      /* of missing lines */
};

void verify_init(struct verify *verify);
void verify_release(struct verify *verify);

void verify_begin_file(struct verify *verify);
/* Takes the header of a file whose predecessors are not read: the number and the hash before it are believed. */
void verify_resume(struct verify *verify, const char *text, size_t len);
/* Takes the next line, with its newline. 0 or -ENOMEM. */
int verify_add_line(struct verify *verify, const char *text, size_t len);
/* Says how many bytes of an incomplete line are at the end of the file. Without any line, it is a file to be begun. */
void verify_end_file(struct verify *verify, uint64_t torn);

/*
 * Says what was found. key: the public key of the signature; NULL: the one that the header names. Lines that no later
 * line has the hash of are counted in *ret_tail: those of a killed writer.
 */
struct verify_finding verify_finish(const struct verify *verify, const uint8_t *key, uint64_t *ret_tail);

/* Whether the last line has this hash, in either form. For checkpoints, which are of the line at that time. */
bool verify_has_head(struct verify *verify, const char digits[HASH_DIGITS]);

#endif
