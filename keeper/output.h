/* --output: what the run added or modified in its workdir, kept. */
#ifndef CALLGATE_KEEPER_OUTPUT_H
#define CALLGATE_KEEPER_OUTPUT_H

#include <jansson.h>
#include <stddef.h>
#include <sys/stat.h>

#include "keeper/custodian.h"
#include "policy/policy.h"

struct output_options {
	const char *directory; /* --output */
	int directory_fd;      /* the same, open */
	const char *workdir_virt;
	const char *workdir_host;
	char *const *globs; /* --artifact: fnmatch(3) on the path below the workdir; none: everything */
	size_t glob_count;
	const struct custodian *custodian; /* who writes there, when we may not; NULL: we do */
};

/* Opens --output's directory (canonical), made when missing (its parent is not). A descriptor or -errno with a message.
 */
int output_open(const char *directory, struct policy_error *ret_error);

/*
 * Copies regular files, with the directories they are in, by the result's "changes"; an existing file is replaced.
 * Links and special files are left out: a link that the program made may lead anywhere once it is outside. 0 with the
 * number of files, or -errno with a message.
 */
int output_keep(const struct output_options *options, const json_t *changes, size_t *ret_files,
		struct policy_error *ret_error);

/*
 * Copies one open file to the name `rest` below the directory, with its permissions and times: made aside and renamed,
 * so that a reader of the directory never meets half a file, through no link. 0 or -errno.
 */
int output_store(int directory_fd, int from_fd, const struct stat *st, const char *rest);

#endif
