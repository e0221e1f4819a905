/*
 * The file of --approvals: answers that hold for later runs with the same policy, one JSON object a line. Removing a
 * line takes its answer back.
 */
#ifndef CALLGATE_APPROVAL_REMEMBERED_H
#define CALLGATE_APPROVAL_REMEMBERED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "approval/message.h"

#define REMEMBERED_FILE_BYTES_MAX (1u << 20)        /* a longer file is not read, and nothing is added to it */
#define REMEMBERED_DEFAULT_S UINT64_C(86400)        /* how long an answer holds that does not say: a day */
#define REMEMBERED_LONGEST_S (30 * UINT64_C(86400)) /* and the longest that one may say */

/*
 * Opens the file, and makes it if it is missing. A descriptor with O_APPEND, owned by the caller; or -errno, with the
 * reason in *ret_why (static): -EPERM: others than its owner, the caller, could write there.
 */
int remembered_open(const char *path, const char **ret_why);

/*
 * Opens the file again, in place of *fd, if another one is at its path by now: editors write a new file and rename it.
 * *fd is -1 if that cannot be used, which is reported on standard error.
 */
void remembered_follow(const char *path, int *fd);

/*
 * When the answer ends that the file has for the scope of this question. 0: it has none, it has expired, or another
 * process keeps the file locked. A line that would hold longer than REMEMBERED_LONGEST_S is no answer.
 */
uint64_t remembered_find(int fd, const struct approval_question *question, uint64_t now_s);

/*
 * Adds an answer for the scope of this question, until `expires_s`, to a file with O_APPEND, and keeps it locked. text:
 * the question's, from which path and right are taken for people who read the file. *ret_size: the size before. 0; or
 * -errno, then the file is as it was.
 */
int remembered_add(int fd, const struct approval_question *question, const char *text, uint64_t expires_s,
		   off_t *ret_size);

/* Unlocks the file after remembered_add(). keep: false takes the answer out again, and leaves `size` bytes. */
void remembered_end(int fd, off_t size, bool keep);

#endif
