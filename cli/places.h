/*
 * Names on the host that a program could have written. Every host path that callgate reads, grants, executes or writes
 * to goes through here, once it is known what the program may write: a link that an earlier run, or --setup, has put
 * where it may write must not choose what callgate does outside of that place. What was judged is opened by its
 * canonical name and through no link (io_open_plain), so that whatever changes between judging and use ends the run.
 */
#ifndef CALLGATE_CLI_PLACES_H
#define CALLGATE_CLI_PLACES_H

#include "cli/real.h"
#include "policy/policy.h"

/* Policies of a run: its own, and those of its phases. */
#define PLACES_POLICIES 3

/* Where a program may write: what these policies say together, and the workdir, whatever they say. All borrowed. */
struct places {
	const struct policy *policy[PLACES_POLICIES]; /* NULL: none */
	const char *workdir;                          /* canonical; NULL: none that was there before the run */
	struct cli_real *real;
};

enum places_use {
	PLACES_GRANT, /* granted, copied from or written to: no link may lead out of a place that a program may write */
	PLACES_CONTENT, /* decides what is allowed, or is a secret: it may not lie in such a place at all */
};

/* A message's words that follow the path: "leads to …; remove the link or name …". */
struct places_why {
	char text[1024];
};

/* Puts the words, cut where there are too many of them. Always -EPERM. */
__attribute__((format(printf, 2, 3))) int places_refuse(struct places_why *ret_why, const char *format, ...);

/*
 * Judges the way to a path, which may be relative and need not exist. 0, or -EPERM with the words. *ret_path, if
 * wanted: the canonical path, owned by the caller, NULL where nothing is there.
 */
int places_judge(const struct places *places, enum places_use use, const char *path, char **ret_path,
		 struct places_why *ret_why);

/*
 * Judges the directories of PATH, and the words of a shell's command that name a file by a path or along PATH: each is
 * CONTENT, and so is what a script's first line names. Relative paths are the root directory's, where it is run. As
 * places_judge, with words that name the file.
 */
int places_judge_command(const struct places *places, const char *command, struct places_why *ret_why);

/* Judges what a policy names (policy_ways), but what it does without. A message in `errors` for each that is refused. 0
 * or -EPERM. */
int places_judge_policy(const struct places *places, const struct policy *policy, struct policy_errors *errors);

#endif
