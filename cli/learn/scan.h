/* Looks at what a grant of a directory or pattern would cover on this machine, beside what the program asked for. */
#ifndef CALLGATE_CLI_LEARN_SCAN_H
#define CALLGATE_CLI_LEARN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/learn/inodes.h"
#include "cli/learn/needs.h"

#define SCAN_SENSITIVE_NAMES_MAX 5u
#define SCAN_ENTRIES_MAX 300000u /* of one directory; a larger one is not granted as a whole */

struct scan_found {
	uint64_t files, used;    /* not directories; used: the program asked for them */
	char *name[SCAN_SENSITIVE_NAMES_MAX];  /* the most sensitive of the unused ones, the worst first; owned */
	unsigned rank[SCAN_SENSITIVE_NAMES_MAX];
	const char *objection;   /* why it should not be granted as a whole; static; NULL: nothing */
};

/* Borrows. */
struct scan_scope {
	const struct needs *needs;
	const char *home;            /* as of secret_find_pattern */
	const struct inodes *inodes; /* NULL: hard links are not looked at */
	bool risky;                  /* secrets may be granted that the program asked for */
};

/*
 * Scans the directory or file, or what a pattern with "*" matches, with all below. virt: the name in the view of
 * `path`, by which `needs` knows it; NULL: the same. 0 or -ENOMEM.
 */
int scan_grant(const struct scan_scope *scope, const char *path, const char *virt, struct scan_found *ret_found);
void scan_found_release(struct scan_found *found);

#endif
