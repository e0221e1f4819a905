#include "cli/ws/recover.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/ws/open.h"
#include "workspace/journal.h"
#include "workspace/place.h"

#define RECOVER_VERB "ws recover"

/* What the journal is read for. */
struct recovery {
	struct workspace_layer layer;
	const char *id;
	size_t done;
	bool was_interrupted; /* there was a journal */
};

/* Removes what an interrupted step has left beside its path. A step that was done is counted. */
static int recover_step(void *ctx, const char *path, size_t number, bool is_done)
{
	struct recovery *recovery = ctx;
	char temporary[PLACE_NAME_SIZE];

	recovery->done += is_done;
	if (!is_done)
		(void)text_printf(stdout, "interrupted at %s\n", *path ? path : ".");
	place_format_name(recovery->id, number, temporary);
	if (number > 0) /* when it was made, it had not yet its name */
		return replacement_recover(&recovery->layer, path, temporary, is_done);
	return is_done ? 0 : place_remove_temporary(&recovery->layer, path, temporary);
}

/* Ends an interrupted apply of one directory. Returns the exit status. */
static int recover_run(struct recovery *recovery, int journal_dir_fd, const char *id)
{
	int r;

	recovery->id = id;
	r = journal_visit(journal_dir_fd, recover_step, recovery);
	if (r == -ENOENT)
		return CLI_EXIT_OK;
	recovery->was_interrupted = true;
	if (r == 0)
		r = journal_remove(journal_dir_fd);
	if (r < 0) {
		cli_print_error(RECOVER_VERB, "%s: %s", id, strerror(-r));
		return CLI_EXIT_ERROR;
	}
	(void)text_printf(
		stdout, "%zu steps were done; callgate ws diff %s has what is not applied, callgate ws apply goes on\n",
		recovery->done, id);
	return cli_print_text(RECOVER_VERB, "");
}

/* Ends an interrupted apply of directory `at`. Returns the exit status. */
static int recover_dir(int fd, size_t at, struct workspace *workspace, bool *was_interrupted)
{
	struct recovery recovery = {.layer = WORKSPACE_LAYER_INIT};
	_cleanup_close_ int journal_dir = workspace_open_journal_dir(fd, at);
	int status = CLI_EXIT_OK, r = ws_open_layer(RECOVER_VERB, fd, fd, at, workspace, &recovery.layer);

	if (r != 1) /* without a layer nothing was applied */
		status = r < 0 ? CLI_EXIT_ERROR : recover_run(&recovery, journal_dir, workspace->id);
	*was_interrupted |= recovery.was_interrupted;
	workspace_layer_release(&recovery.layer);
	return status;
}

/* Ends an interrupted apply. Returns the exit status. */
static int recover_all(int fd, struct workspace *workspace)
{
	bool was_interrupted = false;
	int status = CLI_EXIT_OK;

	for (size_t at = 0; status == CLI_EXIT_OK && at < workspace->dir_count; at++)
		status = recover_dir(fd, at, workspace, &was_interrupted);
	if (status == CLI_EXIT_OK && !was_interrupted)
		cli_note("%s: no apply of it was interrupted", workspace->id);
	return status;
}

int cli_main_ws_recover(int argc, char **argv)
{
	static const struct cli_option table[] = {{0}};
	const struct cli_syntax syntax = {
		.verb = RECOVER_VERB,
		.usage = "Usage: callgate ws recover ID\n\n"
			 "Ends a callgate ws apply that was interrupted: removes what it has left half-made. Each file "
			 "is then\n"
			 "wholly the old or the new one. callgate ws diff shows which are not applied.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, NULL}},
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
	fd = ws_open_workspace(RECOVER_VERB, argv[optind], &workspace);
	if (fd < 0 || ws_lock_workspace(RECOVER_VERB, argv[optind], fd) < 0)
		return CLI_EXIT_ERROR;
	return recover_all(fd, &workspace);
}
