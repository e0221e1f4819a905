/*
 * One output stream of the program, read by the keeper from a pipe. It is forwarded, or kept in memory, or both, up to
 * a limit. Past the limit it is written to a spill file; the pipe is always drained, so the program never blocks.
 */
#ifndef CALLGATE_KEEPER_CAPTURE_H
#define CALLGATE_KEEPER_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_CHUNK_BYTES 65536
#define CAPTURE_NO_LIMIT UINT64_MAX
/* Cap of a spill file: a program that prints without end must not fill the disk. */
#define CAPTURE_SPILL_MAX_BYTES (UINT64_C(1) << 30)

struct capture_options {
	int forward_fd; /* borrowed; -1: not forwarded. Its O_NONBLOCK is not set: others share the file description */
	bool keep;      /* in memory, up to the limit; needed for a spill file that begins with the first byte */
	uint64_t limit_bytes; /* or CAPTURE_NO_LIMIT */
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
	bool reader_gone;  /* forwarding failed with EPIPE; the pipe was closed, so the program gets EPIPE as well */
	int forward_error; /* errno of a failed write to forward_fd; the rest is drained */
	int spill_fd;
	int spill_error; /* errno: the spill file is incomplete */
	uint64_t spilled_bytes;
	bool splices; /* from pipe to pipe, without a copy: only where nothing is kept and there is no limit */
	bool full;    /* splicing: forward_fd takes no more at the moment */
	size_t forward_step; /* bytes that write(2) takes without blocking once poll(2) says writable */
	char *pending;       /* CAPTURE_CHUNK_BYTES, read and not yet forwarded */
	size_t pending_at, pending_end;
};

/* Makes the pipe; *ret_write_fd (CLOEXEC, owned by the caller) is for the program. 0 or -errno. */
int capture_init(struct capture *capture, const struct capture_options *options, int *ret_write_fd);
/* As capture_init, from an open descriptor (O_NONBLOCK), which is taken also on failure. -1: the stream has ended. */
int capture_init_from(struct capture *capture, const struct capture_options *options, int fd);
void capture_release(struct capture *capture);

/* What to poll for: the pipe (-1 when ended), or forward_fd while bytes are pending. */
struct pollfd;
void capture_fill_poll(const struct capture *capture, struct pollfd *ret_poll);

/* To be called when the descriptor to poll is ready. Moves at most one chunk. True: something was moved. */
bool capture_move_chunk(struct capture *capture);

/* True when the program's end is closed and everything read has been forwarded. */
bool capture_has_ended(const struct capture *capture);

/* Stops forwarding, because its reader is too slow, and drains the pipe: the rest is counted, kept and spilled. */
void capture_stop_forwarding(struct capture *capture);

/* Makes sure that the spill file exists and holds all bytes. 0 or -errno. */
int capture_spill_all(struct capture *capture);

#endif
