#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/log.h"
#include "base/cleanup.h"
#include "base/text.h"

/* The first window of the log is one page: a disk may take longer to free more unused space than a short run takes. */
#define LOG_MMAP_WINDOW_BYTES_FIRST (4u << 10)

static void audit_free(struct audit *audit)
{
	if (!audit)
		return;
	log_munmap_window(audit);
	close_fd(&audit->fd);
	encoder_release(&audit->encoder);
	for (size_t i = 0; i < audit->older_file_count; i++)
		close_fd(&audit->older_file[i].fd);
	free(audit->older_file);
	free(audit->first_file_path);
	free(audit->current_file_path);
	free(audit->common_header_text);
	free(audit->key);
	chain_release(&audit->chain);
	free(audit);
}

/* Makes the log's state, still without a file. 0 or -errno. */
static int audit_create(const struct audit_header *header, struct audit **ret_audit)
{
	struct audit *audit = calloc(1, sizeof(*audit));
	int r;

	if (!audit)
		return -ENOMEM;
	audit->fd = -1;
	audit->records_allowed_calls = header->records_allowed_calls;
	audit->progress = header->progress;
	audit->next_mmap_window_bytes = LOG_MMAP_WINDOW_BYTES_FIRST;
	audit->seq = UINT64_MAX; /* so that the next line, the header, gets the number 0 */
	r = chain_init(&audit->chain);
	if (r == 0)
		r = encoder_init(&audit->encoder, header->run_id, header->compact);
	if (r < 0) {
		audit_free(audit);
		return r;
	}
	*ret_audit = audit;
	return 0;
}

/* Writes the first header. */
static int audit_begin_log(struct audit *audit, const struct audit_header *header)
{
	audit->common_header_text = lines_make_common_header(header);
	audit->key = header->key ? strdup(header->key) : NULL;
	if (!audit->common_header_text || (header->key && !audit->key))
		return -ENOMEM;
	return log_write_header(audit, NULL);
}

int audit_start_log(int fd, const struct audit_header *header, struct audit **ret_audit)
{
	_cleanup_close_ int owned = fd;
	struct audit *audit;
	int r = audit_create(header, &audit);

	if (r < 0)
		return r;
	audit->fd = steal_fd(&owned);
	r = audit_begin_log(audit, header);
	if (r < 0) {
		audit_free(audit);
		return r;
	}
	*ret_audit = audit;
	return 0;
}

/* Keeps the path, from which the paths of later files are made. -EEXIST when the next file, PATH.1, exists. */
static int audit_prepare_rotation(struct audit *audit, const char *path, const struct audit_header *header)
{
	_cleanup_free_ char *next = text_format("%s.1", path);

	audit->first_file_path = strdup(path);
	audit->current_file_path = strdup(path);
	if (!audit->first_file_path || !audit->current_file_path || !next)
		return -ENOMEM;
	audit->rotate_bytes = header->rotate_bytes;
	audit->ret_file = header->ret_file;
	return header->rotate_bytes && faccessat(AT_FDCWD, next, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EEXIST : 0;
}

int audit_open_log(const char *path, const struct audit_header *header, struct audit **ret_audit)
{
	struct audit *audit;
	bool made = false;
	int r = audit_create(header, &audit);

	if (r < 0)
		return r;
	if (!path) {
		audit->seq = 0; /* without a file there is no header, and the first record gets the number 1 */
		*ret_audit = audit;
		return 0;
	}
	r = audit_prepare_rotation(audit, path, header);
	if (r == 0)
		r = audit->fd = log_open_file(path, &made);
	if (r >= 0)
		r = audit_begin_log(audit, header);
	if (r == 0) {
		*ret_audit = audit;
		return 0;
	}
	audit_free(audit);
	if (made)
		(void)unlink(path);
	return r;
}

/* Appends a record. It also has the hashes of earlier records that were finished late. */
static int audit_append_record(struct audit *audit, const struct audit_record *record,
			       struct audit_outcome_location *location)
{
	char outcomes[CHAIN_LATE_HASHES_PER_RECORD_MAX * CHAIN_LATE_HASH_ENTRY_BYTES];
	struct line_chain_fields links = {.outcomes_text = outcomes};
	uint64_t start;
	size_t len, room, count = 0;
	int r = chain_make_room_for_line(audit);

	if (r == 0)
		r = log_rotate(audit);
	location->seq = audit->seq + 1;
	if (r == 0)
		r = chain_write_outcomes(audit, outcomes, CHAIN_LATE_HASHES_PER_RECORD_MAX, &count,
					 &links.outcomes_text_len);
	if (r < 0)
		return r;
	links.prev_hash = chain_get_hash_for_next_line(&audit->chain);
	start = audit->file_length;
	r = encode_record(&audit->encoder, record, &links, location->seq, start, &len, &room);
	if (r == 0)
		r = log_append_line(audit, audit->encoder.line_buffer, len);
	if (r < 0)
		return r;
	start += audit->bytes_in_earlier_files;
	location->outcome_offset = start + room;
	chain_drop_outcomes(audit, count);
	compact_remember_process(&audit->encoder, record);
	return chain_add_line(audit, start, len, false);
}

int audit_begin_record(struct audit *audit, const struct audit_record *record,
		       struct audit_outcome_location *ret_location)
{
	struct audit_outcome_location location = {.seq = audit->seq + 1};
	int r;

	if (!audit->records_allowed_calls && record->verdict != VERDICT_DENY && record->verdict != VERDICT_KILL &&
	    record->verdict != VERDICT_ASK) {
		*ret_location = (struct audit_outcome_location){0};
		return 0;
	}
	if (audit->fd >= 0) {
		/* Store the writer only when it changed, since worker threads read it. */
		if (!pthread_equal(audit->writer, pthread_self()))
			audit->writer = pthread_self();
		r = audit_append_record(audit, record, &location);
		if (r < 0) {
			log_remember_error(audit, r);
			return r;
		}
	}
	audit->seq = location.seq;
	audit->record_count++;
	*ret_location = location;
	return 0;
}

void audit_end_record(struct audit *audit, struct audit_outcome_location location, int64_t ret, uint64_t ns)
{
	if (location.seq != 0 && audit->fd >= 0)
		chain_end_record(audit, location, ret, ns);
}

/* Seals all lines, and appends the trailer with the last outcomes. 0 or -errno. */
static int audit_write_trailer(struct audit *audit, const struct audit_trailer *trailer)
{
	struct line_chain_fields links = {.prev_hash = audit->chain.head_hash};
	_cleanup_free_ char *line = NULL, *outcomes = NULL;
	size_t len, count;
	int r;

	/* Cuts off unused space, and perhaps a record for which audit_begin_record did not return. */
	if (ftruncate(audit->fd, (off_t)audit->file_length) < 0)
		return -errno;
	r = chain_seal_all(audit);
	if (r < 0)
		return r;
	outcomes = malloc(audit->chain.late_count * CHAIN_LATE_HASH_ENTRY_BYTES + 1);
	if (!outcomes)
		return -ENOMEM;
	r = chain_write_outcomes(audit, outcomes, SIZE_MAX, &count, &links.outcomes_text_len);
	if (r < 0)
		return r;
	links.outcomes_text = outcomes;
	line = lines_make_trailer(&audit->encoder.clock, audit->encoder.run, audit->encoder.run_id_len, trailer, &links,
				  audit->file_number, audit->seq + 1, audit->record_count, &len);
	return log_append_whole_line(audit, line, len);
}

int audit_close(struct audit *audit, const struct audit_trailer *trailer)
{
	int r = audit->fd >= 0 && trailer ? audit_write_trailer(audit, trailer) : 0;

	audit_free(audit);
	return r;
}

uint64_t audit_get_size(const struct audit *audit)
{
	return audit->bytes_in_earlier_files + audit->file_length;
}

const char *audit_get_path(const struct audit *audit)
{
	return audit->current_file_path;
}

int audit_get_rotation_error(const struct audit *audit)
{
	return audit->rotation_error;
}

uint64_t audit_count_records(const struct audit *audit)
{
	return audit->record_count;
}

int audit_get_error(const struct audit *audit)
{
	return audit->first_error;
}
