/*
 * Host paths that a program could have chosen. Every host path that callgate reads, grants, executes or writes to is
 * judged here, once it is known what the program may write: a symbolic link that an earlier run, or --setup, has made
 * must not choose what callgate does elsewhere. A judged path is then opened by its canonical name and through no link
 * (io_open_without_links), so that a change between judging and use makes the run fail.
 */
#ifndef CALLGATE_CLI_HOST_PLACES_H
#define CALLGATE_CLI_HOST_PLACES_H

#include <errno.h>
#include <stdio.h>

#include "cli/host/real.h"
#include "policy/policy.h"

/* The policies of a run: those of its phase, of the other phase, and of the setup. */
#define PLACES_POLICIES 3

/* Where a program may write: what one of the policies allows, and the workdir in any case. All borrowed. */
struct places {
	const struct policy *policy[PLACES_POLICIES]; /* NULL: none */
	const char *workdir;                          /* canonical; NULL: it is made for the run */
	struct cli_real *real;
};

enum places_use {
	PLACES_GRANT,   /* granted, copied or written: where a program may write, no link may lead elsewhere */
	PLACES_CONTENT, /* decides what is allowed, or is a secret: it must not lie where a program may write */
};

/* The part of a message that follows the path: "leads to …; remove the link or name …". */
struct places_why {
	char text[1024];
};

/* Writes the text, truncated where it is too long. Always -EPERM. */
#define places_refuse(ret_why, ...) ((void)snprintf((ret_why)->text, sizeof((ret_why)->text), __VA_ARGS__), -EPERM)

/*
 * Judges the links on the way to a path, which may be relative and need not exist. 0, or -EPERM with the text.
 * *ret_path, if wanted: the canonical path, owned by the caller; NULL where nothing exists.
 */
int places_judge_path(const struct places *places, enum places_use use, const char *path, char **ret_path,
		 struct places_why *ret_why);

/*
 * Judges a shell command: the directories of PATH, the words that name a file by a path or in PATH, and the files that
 * a script's first line names. Each is CONTENT. A relative path is below the root directory, where the command is run.
 * As places_judge_path, with a text that names the file.
 */
int places_judge_command(const struct places *places, const char *text, struct places_why *ret_why);

#endif
