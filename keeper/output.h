/* --output: stores the files that the run added or modified in its workdir. */
#ifndef CALLGATE_KEEPER_OUTPUT_H
#define CALLGATE_KEEPER_OUTPUT_H

#include <jansson.h>
#include <stddef.h>

#include "keeper/custodian.h"
#include "policy/parse/errors.h"
#include "policy/policy.h"

/* What --output and --artifact say: which files of the workdir are copied where after the run. */
struct output_options {
	const char *directory_path; /* value of --output, for messages */
	int directory_fd;           /* descriptor of --output's directory */
	const char *workdir_virt;   /* path of the workdir in the view */
	const char *workdir_host;   /* path of the workdir on the host */
	char *const *globs; /* --artifact: fnmatch(3) patterns for paths below the workdir; none: every path */
	size_t glob_count;  /* entries of globs[] */
	const struct custodian *custodian; /* stores the files, if it was started (--user) */
};

/* Opens --output's directory (canonical). Creates it, but not its parent, if missing. fd, or -errno with a message. */
int output_open_directory(const char *directory, struct policy_error *ret_error);

/*
 * Stores the regular files in the result's "changes", with the directories above them, over existing ones. Links and
 * special files are left out: a link could lead anywhere. 0 with the number of files, or -errno with a message.
 */
int output_store_files(const struct output_options *options, const json_t *changes, size_t *ret_files,
		       struct policy_error *ret_error);

#endif
