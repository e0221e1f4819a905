/*
 * One output stream of the program, which the keeper reads from a pipe. It is forwarded, or kept in memory, or both, up
 * to a limit. Output beyond the limit is written to a spill file. The pipe is always drained, so that the program never
 * blocks.
 */
#ifndef CALLGATE_KEEPER_CAPTURE_H
#define CALLGATE_KEEPER_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_CHUNK_BYTES 65536   /* output read from the program's pipe at once */
#define CAPTURE_NO_LIMIT UINT64_MAX /* as limit_bytes: the output is not limited */
/* Most bytes of a spill file: a program that prints without end must not fill the disk. */
#define CAPTURE_SPILL_FILE_MAX_BYTES (UINT64_C(1) << 30)

/* What is done with the program's stdout or stderr. */
struct capture_options {
	int forward_fd; /* borrowed, shared with other processes, so O_NONBLOCK is not set; -1: not forwarded */
	/* keep bytes in memory up to the limit, so that a spill file can begin with the first byte */
	bool keeps_in_memory;
	uint64_t limit_bytes; /* most bytes to keep and forward, or CAPTURE_NO_LIMIT */
	int spill_dirfd;      /* directory for the spill file, borrowed */
	const char *spill_file_name; /* name of the file in spill_dirfd */
};

/* The keeper's end of the program's stdout or stderr: forwards, keeps and limits the output. */
struct capture {
	struct capture_options options;
	int pipe_fd; /* reading end of the program's pipe, O_NONBLOCK, owned; -1: the stream has ended */
	char *kept_bytes; /* the bytes kept in memory; owned */
	size_t kept_len, kept_room;
	uint64_t total_bytes;         /* how much the program wrote */
	uint64_t bytes_left_of_limit; /* number of bytes that may still be forwarded or kept */
	bool is_truncated;            /* the program wrote more than limit_bytes */
	bool reader_is_gone;  /* forwarding failed with EPIPE, so the pipe was closed: the program gets EPIPE as well */
	int forward_error; /* errno of a failed write to forward_fd, after which the pipe is only drained; 0: none */
	int spill_fd;      /* file with the output beyond what is kept in memory; -1: none */
	int spill_error; /* errno of a failed write: the spill file is incomplete; 0: none */
	uint64_t spilled_bytes; /* bytes written to spill_fd */
	/* splice(2) moves the bytes to forward_fd: only where nothing is kept and there is no limit */
	bool uses_splice;
	bool forward_pipe_is_full;    /* splice(2) found that forward_fd is full */
	/* bytes that write(2) takes without blocking when poll(2) calls forward_fd writable */
	size_t forward_step_max_bytes;
	char *bytes_to_forward;       /* CAPTURE_CHUNK_BYTES for what was read and is to be forwarded */
	size_t pending_at, pending_end;
};

/* Creates the pipe. The program gets *ret_write_fd, CLOEXEC and owned by the caller. 0 or -errno. */
int capture_init(struct capture *capture, const struct capture_options *options, int *ret_write_fd);
/*
 * Captures a stream that is read from `fd` (O_NONBLOCK), without making a pipe; -1: an empty stream that has ended.
 * Takes fd, also on failure. 0 or -errno.
 */
int capture_init_from_fd(struct capture *capture, const struct capture_options *options, int fd);
void capture_release(struct capture *capture);

/* The descriptor to poll: the pipe (-1 when it has ended), or forward_fd while bytes are to be forwarded. */
struct pollfd;
void capture_get_pollfd(const struct capture *capture, struct pollfd *ret_poll);

/* To be called when the polled descriptor is ready. Moves at most one chunk. True: bytes were moved. */
bool capture_read_or_forward_chunk(struct capture *capture);

/* True when the program has closed the stream and everything that was read has been forwarded. */
bool capture_has_ended(const struct capture *capture);

/* Stops forwarding, because its reader is too slow, and drains the pipe: the rest is counted, kept and spilled. */
void capture_stop_forwarding(struct capture *capture);

/* Makes sure that the spill file exists and holds all bytes. 0 or -errno. */
int capture_ensure_spill_file(struct capture *capture);

#endif
