#include "cli/ws/recover.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/ws/apply.h"
#include "cli/ws/open.h"
#include "workspace/journal.h"
#include "workspace/place.h"
#include "workspace/unlock.h"

#define RECOVER_VERB "ws recover"

/* An interrupted apply of one directory. */
struct recovery {
	struct workspace_layer layer;
	const struct workspace *workspace;
	int journal_dir_fd;
	size_t done;
	bool abandon;    /* a step that fails does not keep the journal */
	bool has_failed; /* a step has, which is told */
	bool has_kept;   /* something stays that may not be the apply's, which is told */
};

/* All that is to be done. */
struct recover {
	bool abandon;         /* what cannot be opened or removed, or is another directory, is left as it is */
	bool was_interrupted; /* there was a journal */
};

/* The length of the directory in a path, with its slash. */
static int recover_get_dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) + 1 : 0;
}

/* Tells why a step was not ended, and where what it may have left is. error: -errno */
static void recover_tell(struct recovery *recovery, const char *path, const char *temporary, int error)
{
	const char *dir = recovery->workspace->dir;

	if (error == -ESTALE)
		recovery->has_kept = true;
	else
		recovery->has_failed = true;
	if (error == -ESTALE)
		cli_print_error(RECOVER_VERB,
				"%s/%s, %s/%.*s%s: nothing is removed, as one of them is not as the apply left it: "
				"both stay; keep the one you want",
				dir, path, dir, recover_get_dir_len(path), path, temporary);
	else
		cli_print_error(RECOVER_VERB, "%s/%.*s%s may be left: %s", dir, recover_get_dir_len(path), path,
				temporary, strerror(-error));
}

/* Removes what an interrupted step has left beside its path. A step that was done is counted. */
static int recover_step(void *ctx, const char *path, size_t number, bool is_done)
{
	struct recovery *recovery = ctx;
	char temporary[PLACE_NAME_SIZE];
	int r = 0;

	place_format_name(recovery->workspace->id, number, temporary);
	if (number > 0) /* when it was made, it had not yet its name */
		r = replacement_recover(&recovery->layer, path, temporary, is_done);
	else if (!is_done)
		r = place_remove_temporary(&recovery->layer, path, temporary);
	if (is_done && r == 0)
		recovery->done++;
	else
		(void)text_printf(stdout, "interrupted at %s\n", *path ? path : ".");
	if (r < 0)
		recover_tell(recovery, path, temporary, r);
	return 0;
}

/* Tells what an interrupted step may have left beside its path, where nothing can be removed. */
static int recover_abandon_step(void *ctx, const char *path, size_t number, bool is_done)
{
	struct recovery *recovery = ctx;
	char temporary[PLACE_NAME_SIZE];

	recovery->done += is_done;
	place_format_name(recovery->workspace->id, number, temporary);
	if (!is_done || number > 0)
		(void)text_printf(stdout, "may be left in what was %s: %.*s%s\n", recovery->workspace->dir,
				  recover_get_dir_len(path), path, temporary);
	return 0;
}

/* Tells that a directory may be writable that was not, where its mode cannot be set. */
static int recover_abandon_dir(void *ctx, const char *path, uint64_t inode, mode_t mode)
{
	const struct recovery *recovery = ctx;

	(void)inode;
	(void)text_printf(stdout, "may be writable in what was %s: %s; it had mode %04o\n", recovery->workspace->dir,
			  *path ? path : ".", (unsigned)mode);
	return 0;
}

/* Tells that a directory may stay writable that was not. error: -errno */
static void recover_tell_mode(struct recovery *recovery, int error)
{
	recovery->has_failed = true;
	cli_print_error(RECOVER_VERB, "%s: a directory that was made writable cannot get its mode back: %s",
			recovery->workspace->dir, strerror(-error));
}

/* Goes through the journal, and removes it. Returns the exit status. */
static int recover_end(struct recovery *recovery, int (*step)(void *ctx, const char *path, size_t number, bool is_done))
{
	const char *id = recovery->workspace->id;
	_cleanup_unlock_ struct unlock unlock = {.base_fd = recovery->layer.base_fd};
	int r = recovery->layer.base_fd < 0 ? 0 : unlock_read(&unlock, recovery->journal_dir_fd), locked;

	if (r == 0 && recovery->layer.base_fd < 0)
		r = journal_visit_dirs(recovery->journal_dir_fd, recover_abandon_dir, recovery);
	if (r < 0)
		recover_tell_mode(recovery, r);
	r = journal_visit(recovery->journal_dir_fd, step, recovery);
	locked = unlock_restore(&unlock, "", true);
	if (locked < 0)
		recover_tell_mode(recovery, locked);

	if (r == 0 && recovery->has_failed && !recovery->abandon) {
		cli_print_error(RECOVER_VERB, "mend that, or leave it: callgate ws recover --abandon %s", id);
		return CLI_EXIT_ERROR;
	}
	if (r == 0 && !recovery->abandon && syncfs(recovery->layer.base_fd) < 0) /* what has which name */
		r = -errno;
	if (r == 0)
		r = journal_remove(recovery->journal_dir_fd);
	if (r < 0) {
		cli_print_error(RECOVER_VERB, "%s: %s", id, strerror(-r));
		return CLI_EXIT_ERROR;
	}
	(void)text_printf(
		stdout, "%zu steps were done; callgate ws diff %s has what is not applied, callgate ws apply goes on\n",
		recovery->done, id);
	if (cli_print_text(RECOVER_VERB, "") != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	return recovery->has_kept || recovery->has_failed ? WS_EXIT_NOT_ALL : CLI_EXIT_OK;
}

/* True when the directory is the one that the apply has changed; else a message says that it is not. */
static bool recover_is_same_dir(const struct recovery *recovery)
{
	struct dir_id id;

	journal_read_dir_id(recovery->journal_dir_fd, &id);
	if (dir_id_is_of(&id, recovery->layer.base_fd))
		return true;
	cli_print_error(RECOVER_VERB, "%s: another directory than that of the apply: it was moved there since",
			recovery->workspace->dir);
	return false;
}

/* Ends an interrupted apply of directory `at`. Returns the exit status. */
static int recover_dir(struct recover *recover, int fd, size_t at, struct workspace *workspace)
{
	_cleanup_close_ int journal_dir = workspace_open_journal_dir(fd, at);
	struct recovery recovery = {
		.layer = WORKSPACE_LAYER_INIT,
		.workspace = workspace,
		.journal_dir_fd = journal_dir,
		.abandon = recover->abandon,
	};
	int status = CLI_EXIT_ERROR;

	if (journal_dir < 0 || !journal_exists(journal_dir))
		return CLI_EXIT_OK;
	recover->was_interrupted = true;
	if (ws_open_layer(RECOVER_VERB, fd, fd, at, workspace, &recovery.layer) == 0 && recover_is_same_dir(&recovery))
		status = ws_lock_directory(RECOVER_VERB, workspace, &recovery.layer) < 0
				 ? CLI_EXIT_ERROR
				 : recover_end(&recovery, recover_step);
	else if (recover->abandon)
		status = recover_end(&recovery, recover_abandon_step);
	else
		cli_print_error(RECOVER_VERB,
				"%s: put it back, or end the apply without it: callgate ws recover --abandon %s",
				workspace->dir, workspace->id);
	workspace_layer_release(&recovery.layer);
	return status;
}

/* Ends an interrupted apply, of all directories that it can. Returns the exit status. */
static int recover_all(struct recover *recover, int fd, struct workspace *workspace)
{
	int status = CLI_EXIT_OK;

	for (size_t at = 0; at < workspace->dir_count; at++) {
		const int one = recover_dir(recover, fd, at, workspace);

		if (one != CLI_EXIT_OK && status != CLI_EXIT_ERROR)
			status = one;
	}
	if (status == CLI_EXIT_OK && !recover->was_interrupted)
		cli_note("%s: no apply of it was interrupted", workspace->id);
	return status;
}

int cli_main_ws_recover(int argc, char **argv)
{
	struct recover recover = {false};
	static const struct cli_option table[] = {
		CLI_FLAG("abandon", 0, "also without the directory, or where a step fails: what is left is told",
			 offsetof(struct recover, abandon)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = RECOVER_VERB,
		.usage = "Usage: callgate ws recover [OPTION] ID\n\n"
			 "Ends a callgate ws apply that was interrupted: removes what it has left half-made. Each file "
			 "is then\n"
			 "wholly the old or the new one. callgate ws diff shows which are not applied. The exit status "
			 "is 3 if\n"
			 "something was left because it is not as the apply left it.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, &recover}},
	};
	_cleanup_close_ int fd = -1; /* holds the lock */
	int status = cli_parse_options(argc, argv, &syntax);
	struct workspace workspace;

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (optind + 1 != argc) {
		cli_print_error(RECOVER_VERB, "name one workspace; callgate ws list has their ids");
		return cli_fail_usage(RECOVER_VERB);
	}
	cli_ignore_broken_pipes();
	fd = ws_open_workspace(RECOVER_VERB, argv[optind], &workspace);
	if (fd < 0 || ws_lock_workspace(RECOVER_VERB, argv[optind], fd) < 0)
		return CLI_EXIT_ERROR;
	return recover_all(&recover, fd, &workspace);
}
