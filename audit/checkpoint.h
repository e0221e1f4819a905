/*
 * Checkpoints of a log, in the form of C2SP's tlog-checkpoint and signed-note: origin, number of lines, hash of the
 * last line, signature. callgate-audit(5), CHAIN.
 */
#ifndef CALLGATE_AUDIT_CHECKPOINT_H
#define CALLGATE_AUDIT_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "audit/hash.h"
#include "base/signing.h"

#define CHECKPOINT_TEXT_SIZE 1024
#define CHECKPOINT_ORIGIN "callgate/audit/" /* what the first line of a checkpoint begins with; the run id follows */

/* Writes a checkpoint. head: HASH_DIGITS digits. Returns its length; 0: the run id is too long. */
size_t checkpoint_write(const struct signing_key *key, const char *run, uint64_t lines, const char *head,
			char out[CHECKPOINT_TEXT_SIZE]);

/* What a checkpoint says of a log. */
struct checkpoint {
	char run[129];
	uint64_t line_count;         /* lines of the log that the checkpoint is about */
	char head_hash[HASH_DIGITS]; /* hash of the last of them */
	bool is_signed; /* by the key */
};

/*
 * Reads the next checkpoint of a file of them. public: the key that must have signed it. 1 with a checkpoint; 0 at the
 * end; -EBADMSG: not a checkpoint of an audit log.
 */
int checkpoint_read(FILE *file, const uint8_t public[SIGNING_KEY_BYTES], struct checkpoint *ret_checkpoint);

#endif
