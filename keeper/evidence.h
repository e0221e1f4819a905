/*
 * The key that signs the log of a run. It is made or read after the fork of the supervisor, in memory that no child
 * inherits. Used by the keeper only; its owner is struct keeper.
 */
#ifndef CALLGATE_KEEPER_EVIDENCE_H
#define CALLGATE_KEEPER_EVIDENCE_H

#include "keeper/private.h"

/* If the run has a log: allocates a page for the key, which is empty in children. Before the fork. 0 or -errno. */
int evidence_allocate_signing_key(struct keeper *keeper);
/* After the fork: makes or reads the key, and tells the supervisor its public half. 0 or -errno. */
int evidence_make_signing_key(struct keeper *keeper);
/* Signs the log that the supervisor, or the keeper in its place, has ended. Sets outcome->log_end. 0 or -errno. */
int evidence_sign_log(struct keeper *keeper);
/* Returns the path of the log's last file. Owned by the caller; NULL: no memory. */
char *evidence_make_log_path(const struct keeper *keeper);
/* Wipes and frees the key. */
void evidence_release_signing_key(struct signing_key *key);

#endif
