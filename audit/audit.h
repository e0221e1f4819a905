/*
 * The log: an append-only file mapped shared. A record is on file, as one whole line, before audit_begin returns, and
 * survives SIGKILL of the writer without a write(2). Its outcome (ret or errno, ns) is patched into fixed-width room
 * afterwards. Full disk is found by fallocate(2) ahead of the writing position, never by SIGBUS.
 */
#ifndef CALLGATE_AUDIT_AUDIT_H
#define CALLGATE_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/record.h"

struct audit;

/* Where a record's outcome goes. A slot stays valid until the log is closed, whatever was appended after it. */
struct audit_slot {
	uint64_t offset; /* of the outcome's room in the file */
	uint64_t seq;    /* 0: nothing was recorded (allowed calls are not logged); audit_end is then a no-op */
};

struct audit_header {
	const char *run_id;
	const char *const *argv; /* NULL-ended */
	const char *policy_name;
	const char *policy_sha256;
	const char *workdir;
	const char *layers_json; /* the enforcement object, ready-made JSON */
	bool record_allowed;
	bool compact; /* records leave out what earlier lines say: see callgate-audit(5) */
};

struct audit_trailer {
	const char *status;
	int exit_code; /* -1: none */
	int signal;    /* 0: none */
	uint64_t judged, allowed, denied;
};

/*
 * Creates the log. `path` NULL keeps it in an unlinked file (counting only). An existing file is refused with -EEXIST
 * unless it is empty or append says to add a further run to it. Returns 0 with an owned handle, or -errno.
 */
int audit_open(const char *path, const struct audit_header *header, struct audit **ret_audit);

/*
 * audit_open in two steps, when whoever writes the log is not who may make it. audit_make returns the empty, locked
 * file, owned by the caller, or -errno as above. audit_start takes it, also on failure, and begins the log in it.
 */
int audit_make(const char *path);
int audit_start(int fd, const struct audit_header *header, struct audit **ret_audit);

/* 0 and a slot; -ENOSPC, -EDQUOT, -EIO, -EFBIG: nothing was recorded and the call must be refused. */
int audit_begin(struct audit *audit, const struct audit_record *record, struct audit_slot *ret_slot);

/* ret >= 0 is the value, ret < 0 is -errno; ns from RECV to reply. */
void audit_end(struct audit *audit, struct audit_slot slot, int64_t ret, uint64_t ns);

/* Writes the trailer and cuts the file to its length. Frees. */
int audit_close(struct audit *audit, const struct audit_trailer *trailer);

/* After a crash: cuts the zero tail, ends a torn last line, appends a trailer with status. 0 or -errno. */
int audit_recover(const char *path, const char *status);
/* The same for a log that is open for reading and writing already. Borrows fd. */
int audit_recover_fd(int fd, const char *status);

uint64_t audit_records(const struct audit *audit);

/* The size of the log, or what it would be if it were kept. */
uint64_t audit_bytes(const struct audit *audit);

/* 0, or the first -errno of a record that could not be written: calls were refused for it. */
int audit_error(const struct audit *audit);

#endif
