/*
 * Looks at what a program or an interpreter in a sandbox is about to run, and later which of the files were changed:
 * `callgate session inspect`, a process outside of the sandbox.
 */
#ifndef CALLGATE_AGENTS_SANDBOX_LOOK_H
#define CALLGATE_AGENTS_SANDBOX_LOOK_H

#include "agents/sandbox/sandbox.h"

struct sandbox_look;

/* What is looked at. Borrowed during the call. */
struct sandbox_look_options {
	const char *callgate_path;
	const void *owner; /* whose sandboxes share its turns and maximum of looks (look-queue.h); only compared */
	const char *const *argv; /* the program, NULL-ended; NULL: code */
	const char *code;        /* which an interpreter gets */
	const char *language;    /* of the code: "python", "javascript", "typescript" or "bash" */
	const json_t *env;       /* of the program, as in sandbox_program_options */
	const char *cwd;         /* NULL: the sandbox' workdir */
	bool reads_stdin;        /* the program's stdin is not empty */
	/*
	 * Called once. answer: what `callgate session inspect --request` prints, borrowed; NULL: it could not be looked
	 * at, and `why` says why. The look is freed before.
	 */
	void (*on_end)(void *data, const json_t *answer, const char *why);
	void *data;
};

/* Whether what runs in the sandbox is to be looked at first: its policy says "inspect". */
bool sandbox_wants_looks(const struct sandbox *sandbox);
/* Starts to look. 0 or -errno: -EUSERS: as many looks of the sandbox, or of its owner, wait as may. */
int sandbox_look_start(const struct sandbox *sandbox, const struct sandbox_look_options *options,
		       struct sandbox_look **ret_look);
/*
 * Starts to look which files of an earlier answer are other ones now; the options of what was looked at are ignored but
 * for cwd. The answer has "changed", "added" and "removed": [names]. 0 or -errno.
 */
int sandbox_look_for_changes(const struct sandbox *sandbox, const struct sandbox_look_options *options,
			     const json_t *answer, struct sandbox_look **ret_look);
/* Stops to look. on_end is not called. NULL is fine. */
void sandbox_look_free(struct sandbox_look *look);
/*
 * Tells the session to put on record that a program is not started because of what was found in it. Long texts are cut,
 * with a mark. 0: the session was told, which may not be enough: it has no room for this client, ends, or cannot write
 * its log. No answer is waited for, which would keep all other clients waiting. -errno: it is not on record.
 */
int sandbox_record_refusal(const struct sandbox *sandbox, const char *program, const char *why);
/*
 * The same for files that were changed since they were looked at, as the answer says; without any, nothing is recorded.
 * answer NULL: it is not known, and `why` says why.
 */
int sandbox_record_changes(const struct sandbox *sandbox, const char *program, const json_t *answer, const char *why);

#endif
