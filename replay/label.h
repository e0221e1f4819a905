/* The labels of rules in records, such as "data.json: filesystem.read[1] /usr/share". */
#ifndef CALLGATE_REPLAY_LABEL_H
#define CALLGATE_REPLAY_LABEL_H

#include <stddef.h>

#define LABEL_WITHOUT_FILE_TEXT_SIZE 1024 /* a rule's label without the name of the policy's file */

/*
 * Copies a label without the policy file and the index of the rule: "filesystem.read /usr/share". Such a label stays
 * the same when a rule moves in the policy. Returns the length, at most `cap`.
 */
size_t label_remove_file_and_index(const char *label, size_t len, char *out, size_t cap);

#endif
