/* SHA-256 of the files that a change is about, for JSON. */
#ifndef CALLGATE_CLI_WS_FINGERPRINT_H
#define CALLGATE_CLI_WS_FINGERPRINT_H

#include <stdint.h>

#include "base/sha256.h"
#include "workspace/changes.h"

/* Of the directory's file and the layer's; "": it is no regular file, it is too large, or it cannot be read. */
struct ws_fingerprints {
	char old[SHA256_HEX_SIZE], new[SHA256_HEX_SIZE];
};

/*
 * Hashes the regular files of a change: as the result of a run does, none of more than CHANGES_HASHED_FILE_BYTES_MAX,
 * and no more than *bytes_left of all, which is lowered.
 */
void ws_fingerprints_make(const struct workspace_layer *layer, const struct workspace_change *change,
			  uint64_t *bytes_left, struct ws_fingerprints *ret);

/* The same of the file of a base, whose path is below layer->dir_fd. */
void ws_fingerprint_base(const struct workspace_layer *layer, const char *path, uint64_t *bytes_left,
			 char ret_hex[SHA256_HEX_SIZE]);

#endif
