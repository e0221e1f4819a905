#include "keeper/anchor.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/checkpoint.h"
#include "base/io.h"

#define ANCHOR_LINE_COUNT_INTERVAL_NS UINT64_C(100000000) /* time between two looks at the number of lines in the log */
#define ANCHOR_LAST_WRITE_TIMEOUT_MS 1000 /* how long the last checkpoint of a run may wait for the anchor */

void anchor_request_first_progress(struct keeper *keeper)
{
	if (keeper->options->anchor_fd < 0 || !keeper->key)
		return;
	keeper->next_checkpoint_check_ns =
		keeper->start_ns +
		(keeper->options->anchor_every_ns ? keeper->options->anchor_every_ns : ANCHOR_LINE_COUNT_INTERVAL_NS);
	__atomic_store_n(&keeper->shared_page->progress.request_state, AUDIT_PROGRESS_REQUESTED, __ATOMIC_RELEASE);
}

/*
 * Removes what a short write has left at the end of a file: half a checkpoint makes all after it unreadable. Leaves the
 * file alone if another run has added to it since.
 */
static void anchor_truncate_partial_write(int fd, off_t written)
{
	off_t end = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == end)
		(void)!ftruncate(fd, end - written); /* on failure verify says that the file is damaged */
}

/* Writes the whole text or nothing, without waiting for longer than wait_ms. 0 or -errno. */
static int anchor_write_text(int fd, const char *text, size_t len, int wait_ms)
{
	struct pollfd place = {.fd = fd, .events = POLLOUT};
	ssize_t written;

	if (poll(&place, 1, wait_ms) <= 0 || !(place.revents & POLLOUT))
		return -EAGAIN;
	written = write(fd, text, len); /* a pipe that is ready takes the whole text: it is shorter than PIPE_BUF */
	if (written == (ssize_t)len)
		return 0;
	if (written < 0)
		return -errno;
	anchor_truncate_partial_write(fd, written);
	return -ENOSPC;
}

static void anchor_write_checkpoint(struct keeper *keeper, uint64_t lines, const char *head, int wait_ms)
{
	struct keeper_outcome *outcome = keeper->outcome;
	char text[CHECKPOINT_TEXT_SIZE];
	size_t len = checkpoint_write(keeper->key, keeper->options->scratch->id, lines, head, text);
	int r = len > 0 ? anchor_write_text(keeper->options->anchor_fd, text, len, wait_ms) : -EINVAL;

	if (r < 0) {
		outcome->anchors_skipped++;
		if (r != -EAGAIN)
			outcome->anchor_error = r;
		return;
	}
	outcome->anchored++;
	outcome->anchored_lines = lines;
}

void anchor_write_due_checkpoint(struct keeper *keeper, uint64_t now_ns)
{
	struct audit_progress *progress = &keeper->shared_page->progress;
	uint64_t every = keeper->options->anchor_every_ns, least = every ? 1 : keeper->options->anchor_every_lines;
	char head[HASH_DIGITS];
	uint64_t lines;

	if (keeper->next_checkpoint_check_ns == 0 || now_ns < keeper->next_checkpoint_check_ns)
		return;
	keeper->next_checkpoint_check_ns = now_ns + (every ? every : ANCHOR_LINE_COUNT_INTERVAL_NS);
	if (__atomic_load_n(&progress->request_state, __ATOMIC_ACQUIRE) != AUDIT_PROGRESS_STORED)
		return;
	lines = progress->sealed_line_count;
	memcpy(head, progress->head_hash, sizeof(head));
	__atomic_store_n(&progress->request_state, AUDIT_PROGRESS_REQUESTED, __ATOMIC_RELEASE);
	if (lines < keeper->anchored_line_count + least)
		return;
	keeper->anchored_line_count = lines;
	anchor_write_checkpoint(keeper, lines, head, 0);
}

uint64_t anchor_get_next_ns(const struct keeper *keeper)
{
	return keeper->next_checkpoint_check_ns ? keeper->next_checkpoint_check_ns : UINT64_MAX;
}

void anchor_write_last_checkpoint(struct keeper *keeper)
{
	const struct signed_log_end *end = &keeper->outcome->log_end;

	if (keeper->options->anchor_fd >= 0 && keeper->key && end->line_count > 0)
		anchor_write_checkpoint(keeper, end->line_count, end->trailer_hash, ANCHOR_LAST_WRITE_TIMEOUT_MS);
}
