/*
 * One output stream of the program on its way out of the pipe: shown (forwarded) and/or kept in memory up to a limit,
 * counted always, and spilled to a file once the limit is passed. Past the limit it is drained so that the program
 * is never blocked by callgate's limit.
 */
#ifndef CALLGATE_KEEPER_CAPTURE_H
#define CALLGATE_KEEPER_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_CHUNK_BYTES 65536
#define CAPTURE_NO_LIMIT UINT64_MAX
/* The most a spill file takes: a program that prints for ever must not fill the disk. */
#define CAPTURE_SPILL_MAX_BYTES (UINT64_C(1) << 30)

struct capture_options {
	int forward_fd; /* -1: not shown. Borrowed; its O_NONBLOCK is left alone, since the description is shared */
	bool keep;      /* in memory, up to the limit; needed for a spill file that begins with the first byte */
	uint64_t limit_bytes; /* CAPTURE_NO_LIMIT: none */
	int spill_dirfd;      /* where the spill file is made, borrowed */
	const char *spill_name;
};

struct capture {
	struct capture_options options;
	int pipe_fd; /* the reading end, O_NONBLOCK, owned; -1: ended or closed */
	char *kept;  /* owned */
	size_t kept_len, kept_room;
	uint64_t bytes;      /* what the program wrote */
	uint64_t left_bytes; /* of the limit */
	bool truncated;
	bool reader_gone;  /* the reader of callgate's own output closed it: the program was given EPIPE as well */
	int forward_error; /* errno of a failed write to callgate's own output; the rest was drained */
	int spill_fd;
	int spill_error; /* errno: the spill file is incomplete */
	uint64_t spilled_bytes;
	size_t forward_step; /* the most one write may take without blocking on a descriptor that poll calls writable */
	char *pending;       /* CAPTURE_CHUNK_BYTES, read and not yet forwarded */
	size_t pending_at, pending_end;
};

/* Makes the pipe; *ret_write_fd (CLOEXEC, owned by the caller) is for the program. 0 or -errno. */
int capture_init(struct capture *capture, const struct capture_options *options, int *ret_write_fd);
/* The same from a descriptor that is there (O_NONBLOCK): takes it, also on failure. -1: a stream that has ended. */
int capture_init_from(struct capture *capture, const struct capture_options *options, int fd);
void capture_done(struct capture *capture);

/* What to poll for: fills fd and events of the pipe (or -1), or of forward_fd while something waits to be shown. */
struct pollfd;
void capture_poll(const struct capture *capture, struct pollfd *ret_poll);

/* To be called when that descriptor is ready. Moves at most one chunk. True: something was moved. */
bool capture_move(struct capture *capture);

/* True when the program's end is closed and everything read has been shown. */
bool capture_ended(const struct capture *capture);

/* Stops showing (its reader does not take it) and takes what is in the pipe: the rest is counted, kept and spilled. */
void capture_hurry(struct capture *capture);

/* Makes sure the spill file holds all bytes (it may not exist yet when nothing was truncated). 0 or -errno. */
int capture_spill_all(struct capture *capture);

#endif
