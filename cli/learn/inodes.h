/*
 * The files of this machine that contain secrets and have several hard links. The name of another hard link may not
 * show that the file is a secret. The search is made once, when the rules of a policy are made.
 */
#ifndef CALLGATE_CLI_LEARN_INODES_H
#define CALLGATE_CLI_LEARN_INODES_H

#include <sys/stat.h>

struct secret_inodes;

/*
 * Searches the places that the patterns of policy/paths/secrets.h name: absolute paths, home directories, and names in
 * the directories of `places` (NULL-ended; may be NULL). home: the user's home directory; NULL: only /root and the
 * directories in /home. 0 or -ENOMEM.
 */
int secret_inodes_find(const char *home, const char *const *places, struct secret_inodes **ret_inodes);
void secret_inodes_free(struct secret_inodes *inodes);

/* Returns which kind of secret a file with this status is a hard link to, for messages. Static; NULL: none. */
const char *secret_inodes_get_kind(const struct secret_inodes *inodes, const struct stat *status);

#endif
