/*
 * Files of a workspace by copying get their content when the program first opens them: view/copy/fill.h. Called by
 * handlers, in the supervisor thread. A worker thread fills large files, after which the call is judged again
 * (OUTCOME_COPY_FIRST). Meanwhile no other call is handled, and nothing else uses what is known of placeholders
 * (sandbox->is_filling): no program sees a file that has a part of its content. But limits and the end of the run do
 * not wait.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_FILLING_H
#define CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_FILLING_H

#include "syscalls/call/call.h"

/* Whether the view has a copy with placeholders. */
bool filling_is_possible(const struct call *call);

/*
 * To be called before the program gets a descriptor of the file of fd (which may be O_PATH), executes it, or changes
 * it, its attributes or its name, as an overlay copies it then; but not before the name is removed. And before
 * bases_keep(), disk_watch_file() and changes_add_touched_place(). for_change: the program may write to
 * it. 0, also for what is no placeholder, or -1 with the outcome set: OUTCOME_COPY_FIRST; ENOSPC or EDQUOT; EIO when
 * the directory has the file no more.
 */
int filling_complete_file(struct call *call, int fd, bool for_change);

/*
 * The same for all files in a directory, of which the program gets events: filling a file would be one. Those that the
 * directory of the workspace has no more stay placeholders.
 */
int filling_complete_directory(struct call *call, int fd);

struct call_work;

/*
 * Makes the work of a worker thread that fills a file (view_begin_fill()), and sets sandbox->is_filling until the work
 * is freed. Takes fill->source_fd. *ret_result: set when it was done, to 0 or -errno; may be NULL. NULL: no memory.
 */
struct call_work *filling_create_work(struct sandbox *sandbox, struct view_fill *fill, int *ret_result);

/* A placeholder that a call empties: it needs no content. */
struct filling_emptied {
	struct fills *fills;
	struct fill_file *file; /* NULL: it is none */
};

/* To be called in place of filling_complete_file() before the file of fd is emptied. False: call that. */
bool filling_find_emptied(const struct call *call, int fd, struct filling_emptied *ret_emptied);

/* To be called when a file was emptied. fd: it, perhaps another one that has got the name meanwhile. */
void filling_end_emptied(const struct filling_emptied *emptied, int fd);

/* To be called before call->resolved_place[i] is changed: fills_await_change(). */
void filling_await_change(const struct call *call, unsigned i);

/* The blocks of a file with this status, as of one that has its content: tar -S and du(1) depend on them. */
uint64_t filling_get_blocks(const struct call *call, const struct stat *st);

#endif
