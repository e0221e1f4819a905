/* The journal of callgate ws apply: begun before the directories are compared, if one of them has to be opened. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/ws/apply-private.h"
#include "workspace/journal.h"

int apply_journal_begin(struct apply_journal *journal)
{
	struct dir_id id;
	int r;

	if (journal->fd >= 0)
		return 0;
	r = dir_id_read(journal->unlock.base_fd, &id);
	if (r < 0)
		return r;
	journal->fd = journal_create(journal->dir_fd, &id);
	if (journal->fd < 0)
		return journal->fd;
	apply_tell_when_interrupted(journal->id);
	return 0;
}

void apply_journal_open_dir(void *ctx, const char *path)
{
	struct apply_journal *journal = ctx;

	/* What fails here is told when the directory is compared. */
	if (unlock_add(&journal->unlock, path, R_OK | X_OK) == 0 && journal->unlock.count > journal->unlock.made &&
	    apply_journal_begin(journal) == 0)
		(void)unlock_make(&journal->unlock, journal->fd);
}

void apply_journal_drop(struct apply_journal *journal)
{
	const int locked = unlock_restore(&journal->unlock, "", true);

	if (locked < 0)
		cli_print_error(APPLY_VERB,
				"a directory cannot get its mode back: %s; callgate ws recover %s does that",
				strerror(-locked), journal->id);
	else if (journal->fd >= 0)
		(void)journal_remove(journal->dir_fd); /* callgate ws recover can do that, too */
	if (journal->fd >= 0)
		apply_end_interrupts();
	close_fd(&journal->fd);
	unlock_release(&journal->unlock);
}
