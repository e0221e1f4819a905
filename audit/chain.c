#include "audit/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/encode.h"
#include "audit/log.h"
#include "audit/put.h"

/* Sets the chain to its start: no line, and a head hash of only "0" digits. Returns 0 or -errno. */
int chain_init(struct chain *chain)
{
	memset(chain, 0, sizeof(*chain));
	memset(chain->head_hash, '0', sizeof(chain->head_hash));
	return -pthread_mutex_init(&chain->lock, NULL);
}

void chain_release(struct chain *chain)
{
	free(chain->late);
	free(chain->line_buffer);
	chain->late = NULL;
	chain->line_buffer = NULL;
	(void)pthread_mutex_destroy(&chain->lock);
}

/* Returns the text of a line: where it is mapped, else a copy that is valid until the next call. NULL: errno is set. */
static const char *chain_read_line(struct audit *audit, uint64_t offset, size_t len)
{
	struct chain *chain = &audit->chain;
	const char *mapped = log_find_in_window(audit, offset, len);
	int r;

	if (mapped)
		return mapped;
	if (len > chain->line_buffer_bytes) {
		char *buffer = realloc(chain->line_buffer, len);

		if (!buffer)
			return NULL;
		chain->line_buffer = buffer;
		chain->line_buffer_bytes = len;
	}
	r = log_read_at(audit, chain->line_buffer, len, offset);
	errno = -r;
	return r < 0 ? NULL : chain->line_buffer;
}

static struct chain_line *chain_find_line(struct chain *chain, uint64_t seq)
{
	return &chain->waiting[seq % CHAIN_UNSEALED_LINES_MAX];
}

/* If another process has asked for it in shared memory, stores there how far the log's chain has come. */
static void chain_store_progress(const struct audit *audit)
{
	struct audit_progress *progress = audit->progress;

	if (!progress || __atomic_load_n(&progress->request_state, __ATOMIC_ACQUIRE) != AUDIT_PROGRESS_REQUESTED)
		return;
	progress->sealed_line_count = audit->chain.sealed_line_count;
	memcpy(progress->head_hash, audit->chain.head_hash, sizeof(progress->head_hash));
	__atomic_store_n(&progress->request_state, AUDIT_PROGRESS_STORED, __ATOMIC_RELEASE);
}

/* Seals the oldest waiting line: its hash becomes the head of the chain, and is written into the next line. */
static int chain_seal_oldest(struct audit *audit, bool finished)
{
	struct chain *chain = &audit->chain;
	const struct chain_line *line = chain_find_line(chain, chain->sealed_line_count);
	const char *text = chain_read_line(audit, line->offset, line->len);

	if (!text)
		return -errno;
	hash_line(text, line->len, finished, chain->head_hash);
	chain->sealed_line_count++;
	chain_store_progress(audit);
	if (chain->sealed_line_count == chain->line_count)
		return 0;
	line = chain_find_line(chain, chain->sealed_line_count);
	return log_write_at(audit, chain->head_hash, HASH_DIGITS,
			    line->offset + hash_get_prev_offset(chain->sealed_line_count));
}

/* Seals lines from the oldest on, up to the first whose outcome is not known yet. 0 or -errno. */
static int chain_seal_finished_lines(struct audit *audit)
{
	struct chain *chain = &audit->chain;
	int r = 0;

	while (r == 0 && chain->sealed_line_count < chain->line_count &&
	       __atomic_load_n(&chain_find_line(chain, chain->sealed_line_count)->state, __ATOMIC_ACQUIRE) & 1)
		r = chain_seal_oldest(audit, true);
	return r;
}

/* Makes room for one more late outcome. 0 or -ENOMEM. */
static int chain_reserve_late_line(struct chain *chain)
{
	size_t cap = chain->late_cap ? 2 * chain->late_cap : 16;
	struct chain_late_line *late;

	if (chain->late_count < chain->late_cap)
		return 0;
	late = reallocarray(chain->late, cap, sizeof(*late));
	if (!late)
		return -ENOMEM;
	chain->late = late;
	chain->late_cap = cap;
	return 0;
}

/* Seals the oldest waiting line. If it has no outcome yet, it becomes a line whose outcome comes late. */
static int chain_seal_oldest_waiting_line(struct audit *audit)
{
	struct chain *chain = &audit->chain;
	struct chain_line *line = chain_find_line(chain, chain->sealed_line_count);
	bool finished;
	int r;

	(void)pthread_mutex_lock(&chain->lock);
	finished = line->state & 1;
	r = finished ? 0 : chain_reserve_late_line(chain);
	if (r == 0 && !finished) {
		chain->late[chain->late_count++] = (struct chain_late_line){
			.seq = chain->sealed_line_count, .offset = line->offset, .len = line->len};
		line->state = UINT64_MAX; /* from now on, worker threads find this line in chain->late only */
	}
	(void)pthread_mutex_unlock(&chain->lock);
	return r < 0 ? r : chain_seal_oldest(audit, finished);
}

int chain_make_room_for_line(struct audit *audit)
{
	struct chain *chain = &audit->chain;
	int r = chain_seal_finished_lines(audit);

	return r == 0 && chain->line_count - chain->sealed_line_count == CHAIN_UNSEALED_LINES_MAX
		       ? chain_seal_oldest_waiting_line(audit)
		       : r;
}

int chain_seal_all(struct audit *audit)
{
	int r = 0;

	while (r == 0 && audit->chain.sealed_line_count < audit->chain.line_count)
		r = chain_seal_oldest_waiting_line(audit);
	return r;
}

const char *chain_get_hash_for_next_line(const struct chain *chain)
{
	return chain->sealed_line_count == chain->line_count ? chain->head_hash : HASH_BLANK;
}

int chain_add_line(struct audit *audit, uint64_t offset, size_t len, bool finished)
{
	struct chain *chain = &audit->chain;
	struct chain_line *line = chain_find_line(chain, chain->line_count);

	line->offset = offset;
	line->len = len;
	__atomic_store_n(&line->state, chain->line_count++ << 1 | finished, __ATOMIC_RELEASE);
	return finished ? chain_seal_finished_lines(audit) : 0;
}

/* ---- outcomes of lines that were sealed before they had one ---- */

static struct chain_late_line *chain_find_late_line(struct chain *chain, uint64_t seq)
{
	for (size_t i = 0; i < chain->late_count; i++)
		if (chain->late[i].seq == seq)
			return &chain->late[i];
	return NULL;
}

/*
 * Moves those lines of chain->late that have their outcome, chain->finished_late_line_count in number, to the front of
 * the array.
 */
static void chain_sort_late_lines(struct chain *chain)
{
	size_t front = 0;

	for (size_t i = 0; i < chain->late_count && front < chain->finished_late_line_count; i++) {
		struct chain_late_line late = chain->late[i];

		if (!late.has_outcome)
			continue;
		chain->late[i] = chain->late[front];
		chain->late[front++] = late;
	}
}

int chain_write_outcomes(struct audit *audit, char *out, size_t max, size_t *ret_count, size_t *ret_len)
{
	struct chain *chain = &audit->chain;
	const char *start = out;
	int r = 0;

	*ret_count = *ret_len = 0;
	if (__atomic_load_n(&chain->finished_late_line_count, __ATOMIC_ACQUIRE) == 0)
		return 0;
	(void)pthread_mutex_lock(&chain->lock);
	chain_sort_late_lines(chain);
	for (size_t i = 0; r == 0 && i < chain->finished_late_line_count && i < max; i++) {
		const struct chain_late_line *late = &chain->late[i];
		const char *text = chain_read_line(audit, late->offset, late->len);

		if (i > 0)
			*out++ = ' ';
		out = put_uint(out, late->seq);
		*out++ = ':';
		if (text)
			hash_line(text, late->len, true, out);
		r = text ? 0 : -errno;
		out += HASH_DIGITS;
		++*ret_count;
	}
	(void)pthread_mutex_unlock(&chain->lock);
	*ret_len = (size_t)(out - start);
	return r;
}

/* Forgets the first `count` late outcomes, whose hashes are on file. */
void chain_drop_outcomes(struct audit *audit, size_t count)
{
	struct chain *chain = &audit->chain;

	if (count == 0)
		return;
	(void)pthread_mutex_lock(&chain->lock);
	/* Since chain_write_outcomes, worker threads have at most finished further lines, which did not move. */
	memmove(chain->late, chain->late + count, (chain->late_count - count) * sizeof(*chain->late));
	chain->late_count -= count;
	__atomic_sub_fetch(&chain->finished_late_line_count, count, __ATOMIC_RELEASE);
	log_close_older_files(audit);
	(void)pthread_mutex_unlock(&chain->lock);
}

/* Writes a call's outcome into its line, in mapped memory or by pwrite(2). */
static void chain_store_outcome(struct audit *audit, uint64_t offset, int64_t ret, uint64_t ns)
{
	char room[AUDIT_OUTCOME_BYTES + 2];
	char *mapped = log_find_in_window(audit, offset, sizeof(room));

	if (mapped) {
		outcome_store(&audit->encoder, mapped, ret, ns);
		return;
	}
	outcome_write_unknown(room);
	outcome_store(&audit->encoder, room, ret, ns);
	/* The blocks are allocated. If the write fails all the same, "ret": null stays: the outcome is unknown. */
	(void)log_write_at(audit, room, AUDIT_OUTCOME_BYTES, offset);
}

void chain_end_record(struct audit *audit, struct audit_outcome_location location, int64_t ret, uint64_t ns)
{
	struct chain *chain = &audit->chain;
	struct chain_line *line = chain_find_line(chain, location.seq);
	bool writer = pthread_equal(pthread_self(), audit->writer);
	struct chain_late_line *late = NULL;

	if (writer && line->state == location.seq << 1) {
		chain_store_outcome(audit, location.outcome_offset, ret, ns);
		__atomic_store_n(&line->state, line->state | 1, __ATOMIC_RELEASE);
		log_remember_error(audit, chain_seal_finished_lines(audit));
		return;
	}
	(void)pthread_mutex_lock(&chain->lock);
	if (__atomic_load_n(&line->state, __ATOMIC_ACQUIRE) == location.seq << 1) {
		chain_store_outcome(audit, location.outcome_offset, ret, ns);
		__atomic_store_n(&line->state, location.seq << 1 | 1, __ATOMIC_RELEASE);
	} else if ((late = chain_find_late_line(chain, location.seq)) && !late->has_outcome) {
		chain_store_outcome(audit, location.outcome_offset, ret, ns);
		late->has_outcome = true;
		__atomic_add_fetch(&chain->finished_late_line_count, 1, __ATOMIC_RELEASE);
	}
	(void)pthread_mutex_unlock(&chain->lock);
}
