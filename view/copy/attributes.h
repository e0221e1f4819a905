/* A digest of the extended attributes of a file, by which it is known again. */
#ifndef CALLGATE_VIEW_COPY_ATTRIBUTES_H
#define CALLGATE_VIEW_COPY_ATTRIBUTES_H

#include "base/sha256.h"

/*
 * Hashes names and values of the extended attributes of an open file, which is not of O_PATH. Those that security
 * modules set by where the file is, or that root alone sees, do not count. "": it has none. 0 or -errno.
 */
int copy_hash_attributes(int fd, char ret_hex[SHA256_HEX_SIZE]);

#endif
