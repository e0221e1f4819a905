/*
 * The audit log: one line for each judged system call and each network event. The keeper opens the log, forks the
 * supervisor, which writes the records, and closes the log. The file is mapped with MAP_SHARED: a record is a whole
 * line of the file before audit_begin_record returns, and survives SIGKILL of the writer without any write(2). Its
 * outcome (ret or errno, ns) is stored later, in space of fixed width. Space is allocated ahead by fallocate(2), so
 * that a full disk is an error of audit_begin_record and never SIGBUS.
 */
#ifndef CALLGATE_AUDIT_AUDIT_H
#define CALLGATE_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/record.h"

struct audit;

/* Where the outcome of a record is to be stored. Valid until the log is closed. */
struct audit_outcome_location {
	uint64_t outcome_offset; /* offset of the outcome in the file */
	uint64_t seq;    /* number of the record; 0: the call is not recorded, and audit_end_record does nothing */
};

/*
 * Progress of the log, in memory shared with another process: that process sets request_state, and the writer fills in
 * the rest.
 */
struct audit_progress {
	uint32_t request_state; /* AUDIT_PROGRESS_* */
	uint64_t sealed_line_count; /* lines whose hash the next line has */
	char head_hash[64]; /* hash of the last sealed line */
};

#define AUDIT_PROGRESS_REQUESTED 1u /* set by the reader: the writer is to store its progress at the next line */
#define AUDIT_PROGRESS_STORED 2u    /* set by the writer: the progress is stored */

/* What the first line of a log says of its run, and settings of the writer. */
struct audit_header {
	const char *run_id;
	const char *const *argv; /* the program and its arguments, NULL-ended */
	const char *policy_name;
	const char *policy_sha256;
	const char *workdir;
	const char *layers_json; /* JSON object that tells which sandbox layers are active */
	bool records_allowed_calls;
	bool lacks_records_of_reads; /* "judge": "changes": calls that only read are not on record */
	bool compact; /* records leave out what earlier lines say: callgate-audit(5) */
	const char *key; /* public key with which the log is signed, in base64; NULL: it is not signed */
	uint64_t rotate_bytes;           /* size at which the log goes on in another file; 0: never */
	struct audit_progress *progress; /* where the writer stores its progress on request; NULL: nowhere */
	volatile unsigned *ret_file;     /* where the writer stores the number of the current file; NULL: nowhere */
};

/* What the last line of a log says of the run's end. */
struct audit_trailer {
	const char *status;
	int exit_code; /* -1: the program did not exit */
	int signal;    /* 0: no signal ended the program */
	uint64_t judged, allowed, denied;
	/* lines whose hash no later line had when the writer died; 0: the writer ended the log itself */
	uint64_t unsealed_line_count;
};

/*
 * Creates the log and writes its header. Without a path, records are only counted. Returns 0 with a log owned by the
 * caller, or -errno: -EEXIST when the file exists, unless it is an empty regular file of the effective user with one
 * link; -EBUSY when it is locked. With rotate_bytes, the log goes on in files with ".1", ".2" and so on behind the
 * path, which is looked up for each. "PATH.1" must not exist. When a file cannot be made, the last one grows on.
 */
int audit_open_log(const char *path, const struct audit_header *header, struct audit **ret_audit);

/*
 * The two steps of audit_open_log, for a log that is created with other privileges than it is written with.
 * audit_make_log_file returns the empty, locked file, owned by the caller, or -errno as audit_open_log. audit_start_log
 * takes fd, also on failure.
 */
int audit_make_log_file(const char *path);
int audit_start_log(int fd, const struct audit_header *header, struct audit **ret_audit);

/*
 * Records a judged call. 0 with where its outcome is to be stored, or -errno (such as -ENOSPC): then the call must be
 * refused.
 */
int audit_begin_record(struct audit *audit, const struct audit_record *record,
		       struct audit_outcome_location *ret_location);

/* Stores the outcome: ret is the result or -errno, ns the time from SECCOMP_IOCTL_NOTIF_RECV to the response. */
void audit_end_record(struct audit *audit, struct audit_outcome_location location, int64_t ret, uint64_t ns);

/*
 * Frees the log. With a trailer, first cuts unused space off the file and writes the trailer, unless that was done
 * before. 0 or -errno.
 */
int audit_close(struct audit *audit, const struct audit_trailer *trailer);

/*
 * Ends the log of a killed writer: cuts off unused space and an incomplete last line, and appends a trailer with
 * `status` if it has none. 0 or -errno: -EBUSY when it is still being written, -EBADMSG when the file is no log.
 */
int audit_recover_log(const char *path, const char *status);
/* Ends the log of a killed writer as audit_recover_log does. fd is open for reading and writing, and borrowed. */
int audit_recover_fd(int fd, const char *status);

uint64_t audit_count_records(const struct audit *audit);

/* Returns the size of the log in bytes; 0 when records are only counted. */
uint64_t audit_get_size(const struct audit *audit);

/* Returns the path of the file that is written. Borrowed. NULL: there is no file, or only its descriptor is known. */
const char *audit_get_path(const struct audit *audit);
/* Returns the last error that kept the log from going on in another file; 0: none. */
int audit_get_rotation_error(const struct audit *audit);

/* Returns the first error of audit_begin_record, or 0. */
int audit_get_error(const struct audit *audit);

#endif
