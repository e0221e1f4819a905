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
 * Whether the file has an answer for the scope of this question that has not expired. False also if another process
 * keeps the file locked.
 */
bool remembered_find(int fd, const struct approval_question *question, uint64_t now_s);

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
