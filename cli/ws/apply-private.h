/* What the files of callgate ws apply share. */
#ifndef CALLGATE_CLI_WS_APPLY_PRIVATE_H
#define CALLGATE_CLI_WS_APPLY_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/ws/plan.h"
#include "cli/ws/times.h"
#include "workspace/place.h"
#include "workspace/unlock.h"

#define APPLY_VERB "ws apply"

/* An apply that goes on. */
struct apply {
	struct plan *plan;
	json_t **conflict; /* json: of each change, its conflict; owned */
	const char *id;    /* of the workspace */
	int journal_fd;
	char temporary[PLACE_NAME_SIZE];
	bool *is_done;      /* of each change: its entry was put, made beside the old one, or removed; owned */
	bool *is_replaced;  /* of each replacement: it was tried to put it in the place of the old entry; owned */
	bool is_hold_told;  /* it was told that deletions are left out */
	bool failed;        /* something went wrong that is no conflict */
	bool is_unfinished; /* the journal must stay for callgate ws recover */
	struct ws_times times;
	struct unlock unlock; /* directories that are writable for as long as it goes on */
};

/* ---- apply-put.c ---- */

/* Tells why a change was not applied, and what its state is then. error: -errno */
enum plan_state apply_tell_failure(const struct apply *apply, const struct workspace_change *change, int error);

/* True when the journal was written. Without it, the apply ends. */
bool apply_check_journal(struct apply *apply, int error);

/* True for an old name of a renamed file whose new name is left out. */
bool apply_is_held(const struct plan *plan, const struct workspace_change *change);

/*
 * The replacement that is to be applied and that a change is, or is below (workspace/place.h). NULL: there is none.
 */
const struct workspace_change *apply_find_replacement(const struct plan *plan, const struct workspace_change *change);

/* The temporary name of a replacement. */
void apply_format_name(const struct apply *apply, const struct workspace_change *replacement,
		       char ret_name[PLACE_NAME_SIZE]);

/*
 * Puts the new entry of a change, or makes that of a replacement beside the old one: as another name of a file that was
 * put or is unchanged, or as a copy. layer, sub: of the directory that it is put in, and the change with its path below
 * that. 0 or -errno.
 */
int apply_put(const struct apply *apply, const struct workspace_layer *layer, const struct workspace_change *change,
	      const struct workspace_change *sub);

/* ---- apply-journal.c ---- */

/* The journal, and the directories that were made accessible under it. */
struct apply_journal {
	int dir_fd;     /* where it is; borrowed */
	int fd;         /* -1: it is not begun, or an apply has taken it */
	const char *id; /* of the workspace */
	struct unlock unlock;
};

/* Makes the journal, unless it is begun. 0; -EEXIST: there is one of an apply that did not end; or -errno. */
int apply_journal_begin(struct apply_journal *journal);

/* Lets a directory be read and searched, if it is the caller's own. ctx: struct apply_journal. */
void apply_journal_open_dir(void *ctx, const char *path);

/* When nothing is applied: gives the directories their modes back, and removes the journal. */
void apply_journal_drop(struct apply_journal *journal);
#define _cleanup_apply_journal_ __attribute__((cleanup(apply_journal_drop)))

/* ---- apply-explain.c ---- */

/* Why a change could not be applied (static, or of strerror(3)). error: -errno */
const char *apply_explain(const struct workspace_layer *layer, const struct workspace_change *change, int error);

/* ---- apply-interrupt.c ---- */

/* While there is a journal: a signal that ends the process is told, with the way on. */
void apply_tell_when_interrupted(const char *id);
void apply_end_interrupts(void);

/* ---- apply-unlock.c ---- */

/*
 * Makes the directories writable that the plan changes entries of, and lets those be searched that they are in. 0; or
 * -1 after a message: then nothing may be changed.
 */
int apply_unlock_dirs(struct apply *apply);

/* Gives the directories their mode back whose paths are behind this one; also: that of this path, too. */
void apply_lock_dirs(struct apply *apply, const char *path, bool also);

/* Gives a directory what it has in the layer, when those behind it have their modes. As place_set_attributes(). */
int apply_set_dir(struct apply *apply, const struct workspace_change *change);

/* ---- apply-replace.c ---- */

/* Leaves out a change and, of a replacement, all that belongs to it. */
void apply_hold(const struct plan *plan, size_t at, enum plan_state state);

/* Makes the new entry of change `at`, if that is a replacement, beside the old one. */
void apply_make_replacement(struct apply *apply, size_t at);

/* Puts it in the place of the old one, which is removed; or removes it, when the change is left out. */
void apply_replace(struct apply *apply, size_t at);

/* ---- apply-steps.c ---- */

/* Applies what the plan says: removals and attributes of directories from below, new entries from above. */
void apply_make_steps(struct apply *apply);

/* ---- apply-hold.c ---- */

/* True when the deletion that change `at` is, or has, is made. */
bool apply_is_over(const struct apply *apply, size_t at);

/* Leaves out what removes or replaces the directories that an entry is in, which stays. */
void apply_hold_dirs_above(const struct plan *plan, const char *path, enum plan_state state);

/* Leaves out the replacements of directories of which an entry stays. True if there are some. */
bool apply_hold_dirs_with_entries(const struct apply *apply);

/*
 * Leaves out what would remove or overwrite the old name of a file whose new name is left out, and is not made yet.
 * True if it has left out something. Without memory, the apply ends.
 */
bool apply_hold_old_names(struct apply *apply);

/* ---- apply-print.c ---- */

/* Tells of all conflicts, whose versions are written beside their files: last, when no name is needed any more. */
void apply_tell_conflicts(struct apply *apply);

/* Prints what was applied. Returns the exit status. */
int apply_print(const struct apply *apply);

#endif
