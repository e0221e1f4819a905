/*
 * Scans the files of this machine that a grant of a directory or pattern would cover besides those that the program
 * used.
 */
#ifndef CALLGATE_CLI_LEARN_SCAN_H
#define CALLGATE_CLI_LEARN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/learn/inodes.h"
#include "cli/learn/needs.h"

#define SCAN_SENSITIVE_NAMES_MAX 5u /* most sensitive names in a directory that are kept as examples */
#define SCAN_ENTRIES_MAX 300000u /* most entries of a scanned directory; a larger one is not granted as a whole */

/* What a directory that a rule would grant contains. */
struct scan_found {
	uint64_t files, used; /* numbers of files (not directories), and of those that the program used */
	/* the most sensitive names that the program did not use, the worst first; owned */
	char *sensitive_names[SCAN_SENSITIVE_NAMES_MAX];
	unsigned sensitivity_ranks[SCAN_SENSITIVE_NAMES_MAX]; /* how sensitive each of sensitive_names is */
	const char *objection; /* why the directory should not be granted as a whole; static; NULL: no objection */
};

/* What a scan compares files with. All pointers are borrowed. */
struct scan_scope {
	const struct needs *needs;
	const char *home;            /* home directory of the user; NULL: unknown */
	const struct secret_inodes *inodes; /* secrets with several hard links; NULL: hard links are not checked */
	bool allows_risky;           /* secrets that the program used may be granted */
};

/*
 * Scans a file, a directory with all below, or everything that a pattern with "*" matches. virt: the path in the view
 * under which scope->needs has `path`; NULL: the same path. 0 or -ENOMEM.
 */
int scan_path_to_grant(const struct scan_scope *scope, const char *path, const char *virt,
		       struct scan_found *ret_found);
void scan_found_release(struct scan_found *found);

#endif
