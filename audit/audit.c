#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"
#include "base/cleanup.h"

/* The first window is one page: freeing unused space may take a disk longer than a short run itself. */
#define WINDOW_FIRST_BYTES (4u << 10)

/*
 * Creates the file; or opens an empty one, as mktemp(1) makes it, if it belongs to the effective user, has one link,
 * and is not behind a symbolic link. Locks it, which tells audit_recover_log that the log is still being written.
 * *ret_made, also set on failure: this function created the file.
 */
static int audit_open_file(const char *path, bool *ret_made)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	struct stat file;

	*ret_made = fd >= 0;
	if (fd < 0 && errno == EEXIST) {
		fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0 || fstat(fd, &file) < 0)
			return -errno;
		if (!S_ISREG(file.st_mode) || file.st_size != 0 || file.st_nlink != 1 || file.st_uid != geteuid())
			return -EEXIST;
	}
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	return steal_fd(&fd);
}

static void audit_free(struct audit *audit)
{
	if (!audit)
		return;
	log_unmap_window(audit);
	close_fd(&audit->fd);
	if (audit->shared)
		(void)munmap(audit->shared, sizeof(*audit->shared));
	encoder_release(&audit->encoder);
	free(audit);
}

static int audit_create(const struct audit_header *header, struct audit **ret_audit)
{
	struct audit *audit = calloc(1, sizeof(*audit));
	void *shared;
	int r;

	if (!audit)
		return -ENOMEM;
	audit->fd = -1;
	audit->record_allowed = header->record_allowed;
	audit->chunk_bytes = WINDOW_FIRST_BYTES;
	r = encoder_init(&audit->encoder, header->run_id, header->compact);
	shared = mmap(NULL, sizeof(*audit->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared != MAP_FAILED)
		audit->shared = shared;
	if (r < 0 || shared == MAP_FAILED) {
		audit_free(audit);
		return -ENOMEM;
	}
	*ret_audit = audit;
	return 0;
}

static int audit_write_header(struct audit *audit, const struct audit_header *header)
{
	_cleanup_free_ char *line = NULL;
	size_t len;

	line = lines_make_header(&audit->encoder, header, 0, &len);
	return line ? log_append_by_pwrite(audit, line, len) : -ENOMEM;
}

int audit_make_log_file(const char *path)
{
	bool made = false;
	int fd = audit_open_file(path, &made);

	if (fd < 0 && made)
		(void)unlink(path);
	return fd;
}

int audit_start_log(int fd, const struct audit_header *header, struct audit **ret_audit)
{
	_cleanup_close_ int owned = fd;
	struct audit *audit;
	int r = audit_create(header, &audit);

	if (r < 0)
		return r;
	audit->fd = steal_fd(&owned);
	r = audit_write_header(audit, header);
	if (r < 0) {
		audit_free(audit);
		return r;
	}
	*ret_audit = audit;
	return 0;
}

int audit_open_log(const char *path, const struct audit_header *header, struct audit **ret_audit)
{
	bool made = false;
	int fd, r;

	if (!path)
		return audit_create(header, ret_audit);
	fd = audit_open_file(path, &made);
	r = fd < 0 ? fd : audit_start_log(fd, header, ret_audit);
	if (r < 0 && made)
		(void)unlink(path);
	return r;
}

int audit_begin_record(struct audit *audit, const struct audit_record *record, struct audit_slot *ret_slot)
{
	struct audit_slot slot = {.seq = audit->shared->seq + 1};
	size_t len, room;
	int r;

	if (!audit->record_allowed && record->verdict != VERDICT_DENY && record->verdict != VERDICT_KILL &&
	    record->verdict != VERDICT_ASK) {
		*ret_slot = (struct audit_slot){0};
		return 0;
	}
	if (audit->fd >= 0) {
		/* Store the writer only when it changed, since worker threads read it. */
		if (!pthread_equal(audit->writer, pthread_self()))
			audit->writer = pthread_self();
		r = encode_record(&audit->encoder, record, slot.seq, audit->shared->end, &len, &room);
		if (r < 0)
			return r;
		slot.offset = audit->shared->end + room;
		r = log_append_line(audit, audit->encoder.line, len);
		if (r < 0) {
			audit->error = audit->error ? audit->error : r;
			return r;
		}
		compact_remember_process(&audit->encoder, record);
	}
	audit->shared->seq = slot.seq;
	audit->shared->records++;
	*ret_slot = slot;
	return 0;
}

void audit_end_record(struct audit *audit, struct audit_slot slot, int64_t ret, uint64_t ns)
{
	char room[AUDIT_OUTCOME_BYTES + 2];

	if (slot.seq == 0 || audit->fd < 0)
		return;
	if (log_is_in_window(audit, slot.offset, sizeof(room))) {
		outcome_store(&audit->encoder, audit->window + (slot.offset - audit->window_start), ret, ns);
		return;
	}
	outcome_write_unknown(room);
	outcome_store(&audit->encoder, room, ret, ns);
	/* The blocks are allocated. If the write fails all the same, "ret": null stays: the outcome is unknown. */
	(void)!pwrite(audit->fd, room, AUDIT_OUTCOME_BYTES, (off_t)slot.offset);
}

int audit_close(struct audit *audit, const struct audit_trailer *trailer)
{
	_cleanup_free_ char *line = NULL;
	struct log_shared *shared = audit->shared;
	size_t len;
	int r = 0;

	if (audit->fd >= 0 && trailer && !shared->closed) {
		shared->closed = true;
		/* Cuts off unused space, and perhaps a record for which audit_begin_record did not return. */
		if (ftruncate(audit->fd, (off_t)shared->end) < 0)
			r = -errno;
		line = lines_make_trailer(&audit->encoder.clock, audit->encoder.run, audit->encoder.run_len, trailer,
					   shared->seq + 1, shared->records, &len);
		if (r == 0)
			r = line ? log_append_by_pwrite(audit, line, len) : -ENOMEM;
	}
	audit_free(audit);
	return r;
}

uint64_t audit_get_size(const struct audit *audit)
{
	return audit->shared->end;
}

uint64_t audit_count_records(const struct audit *audit)
{
	return audit->shared->records;
}

int audit_get_error(const struct audit *audit)
{
	return audit->error;
}
