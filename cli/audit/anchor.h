/* Checkpoints of logs, which `callgate audit verify --anchor` compares with a log while it reads both. */
#ifndef CALLGATE_CLI_AUDIT_ANCHOR_H
#define CALLGATE_CLI_AUDIT_ANCHOR_H

#include <stdio.h>

#include "audit/checkpoint.h"
#include "audit/verify.h"

/* The checkpoints of one log. The caller sets checkpoints_path; all other members start as zeros. */
struct anchor_check {
	const char *checkpoints_path; /* file with the checkpoints; NULL: there are no checkpoints */
	FILE *file;       /* owned */
	struct checkpoint next_checkpoint;
	bool has_next_checkpoint; /* next_checkpoint is valid: it is to be compared yet */
	/* agreed_count: number of checkpoints that agree with the log; agreed_lines: lines up to the last of them */
	uint64_t agreed_lines, agreed_count;
	bool has_forged_checkpoint; /* a checkpoint is not signed with the key */
	/*
	 * the first line of the log whose hash differs from that in a checkpoint; rewritten_line.number is 0 if there
	 * is none
	 */
	struct verify_place rewritten_line;
	uint8_t key[SIGNING_KEY_BYTES];
	char run[129];
};

/*
 * Opens the file of checkpoints. To be called when `verify` has read the log's first line, which names the run and the
 * key. key: the public key that verifies the checkpoints; NULL: the key that the log names. 0 or -errno.
 */
int anchor_open(struct anchor_check *anchor, const struct verify *verify, const uint8_t *key);
/* Compares the line last added to `verify` with the checkpoints. 0, or -EBADMSG: the file is no list of checkpoints. */
int anchor_compare_last_line(struct anchor_check *anchor, struct verify *verify);
/* Changes the finding about the log by what the checkpoints prove. */
void anchor_apply_to_finding(const struct anchor_check *anchor, const struct verify *verify,
			     struct verify_finding *finding);
void anchor_close(struct anchor_check *anchor);

#endif
