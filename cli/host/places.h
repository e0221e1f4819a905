/*
 * Judges host paths that a program could have chosen: every host path that callgate reads, grants, executes or writes
 * to, once it is known what the program may write. A symbolic link that an earlier run, or --setup, has created must
 * not decide which files callgate uses elsewhere. A judged path is then opened by its canonical name and through no
 * link (io_open_without_links), so that a change between judging and use makes the run fail.
 */
#ifndef CALLGATE_CLI_HOST_PLACES_H
#define CALLGATE_CLI_HOST_PLACES_H

#include <errno.h>
#include <stdio.h>

#include "cli/host/real.h"
#include "policy/policy.h"

/* How many policies a run has: for its phase, for the other phase, and for the setup. */
#define PLACES_POLICIES_PER_RUN_MAX 3

/* Where a program may write: what one of the policies allows, and in any case the workdir. Pointers are borrowed. */
struct writable_places {
	const struct policy *policy[PLACES_POLICIES_PER_RUN_MAX]; /* unused entries are NULL */
	const char *workdir;                          /* canonical; NULL: the run creates its workdir */
	struct cli_path_cache *path_cache;
};

enum places_path_use {
	/* granted, copied or written to: no link that a program may have made may lead elsewhere */
	PLACES_PATH_IS_GRANTED,
	/* a secret, or decides what is allowed: must not lie where a program may write */
	PLACES_PATH_MUST_BE_TRUSTED,
};

/* The part of a message that follows the path: "leads to …; remove the link or name …". */
struct places_refusal {
	char text[1024];
};

/* Sets the text of a refusal, truncated where it is too long. The macro's value is -EPERM. */
#define places_refuse(ret_why, ...) ((void)snprintf((ret_why)->text, sizeof((ret_why)->text), __VA_ARGS__), -EPERM)

/*
 * Judges the links on the way to a path, which may be relative and need not exist. 0, or -EPERM with the text.
 * *ret_path, if wanted: the canonical path, owned by the caller; NULL where nothing exists.
 */
int places_judge_path(const struct writable_places *places, enum places_path_use use, const char *path, char **ret_path,
		 struct places_refusal *ret_why);

/*
 * Judges a shell command: the directories of PATH, the words that name a file by a path or in PATH, and the files that
 * a script's "#!" line names, each as PLACES_PATH_MUST_BE_TRUSTED. A relative path is below the root directory, where
 * the command is run. 0, or -EPERM with a text that names the file.
 */
int places_judge_command(const struct writable_places *places, const char *text, struct places_refusal *ret_why);

#endif
