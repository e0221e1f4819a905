/* Digests of what a cell depends on: files, trees, policies. */
#ifndef CALLGATE_CLI_EXPERIMENT_DIGEST_H
#define CALLGATE_CLI_EXPERIMENT_DIGEST_H

#include "base/buf.h"
#include "cli/options.h"

/*
 * Appends one line for each file, directory and link at and below `path`, in the order of names: type, mode, name, and
 * the SHA-256 of the content. 0, or -errno with a message printed.
 */
int digest_add_tree(struct buf *out, const char *path);

/* Appends the SHA-256 of the policy that `options`, options of callgate run, compose. 0, or -EINVAL with messages. */
int digest_add_policy(struct buf *out, const struct cli_list *options);

#endif
