/* Checkpoints of logs, which `callgate audit verify --anchor` compares with a log while it reads both. */
#ifndef CALLGATE_CLI_AUDIT_ANCHOR_H
#define CALLGATE_CLI_AUDIT_ANCHOR_H

#include <stdio.h>

#include "audit/checkpoint.h"
#include "audit/verify.h"

/* The checkpoints of one log. Starts zero-initialised but for `path`. */
struct anchor {
	const char *path; /* NULL: there are none */
	FILE *file;       /* owned */
	struct checkpoint next;
	bool has_next;
	uint64_t lines, count;  /* of the last checkpoint that the log agrees with; how many it agrees with */
	bool forged;            /* one is not signed with the key */
	struct verify_place rewritten; /* the first line that is not the anchored one; number 0: none */
	uint8_t key[SIGNING_KEY_BYTES];
	char run[129];
};

/* Begins when the first line of the log is known. key: NULL: that of the log. 0 or -errno. */
int anchor_open(struct anchor *anchor, const struct verify *verify, const uint8_t *key);
/* Compares the line that was added last. 0 or -EBADMSG: the file has something else than checkpoints. */
int anchor_compare(struct anchor *anchor, struct verify *verify);
/* Changes what was found in the log by what the checkpoints say. */
void anchor_judge(const struct anchor *anchor, const struct verify *verify, struct verify_finding *finding);
void anchor_close(struct anchor *anchor);

#endif
