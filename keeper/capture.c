#include "keeper/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define CAPTURE_BYTES_PER_SPLICE_MAX ((size_t)1 << 20) /* most bytes of one splice(2): more than a pipe holds */

/* How much to write at once without blocking: PIPE_BUF for pipes, terminals and sockets that poll(2) calls writable. */
static size_t capture_get_forward_step(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? CAPTURE_CHUNK_BYTES : PIPE_BUF;
}

/* Whether splice(2) may move the output, because none of it is kept or limited. */
static bool capture_can_splice(const struct capture_options *options)
{
	struct stat st;

	return !options->keeps_in_memory && options->limit_bytes == CAPTURE_NO_LIMIT && options->forward_fd >= 0 &&
	       fstat(options->forward_fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

int capture_init_from_fd(struct capture *capture, const struct capture_options *options, int fd)
{
	*capture = (struct capture){.options = *options, .pipe_fd = fd, .spill_fd = -1};
	capture->bytes_to_forward = malloc(CAPTURE_CHUNK_BYTES);
	if (!capture->bytes_to_forward) {
		capture_release(capture);
		return -ENOMEM;
	}
	capture->bytes_left_of_limit = options->limit_bytes;
	capture->forward_step_max_bytes = capture_get_forward_step(options->forward_fd);
	return 0;
}

int capture_init(struct capture *capture, const struct capture_options *options, int *ret_write_fd)
{
	int fds[2], error;

	*capture = (struct capture){.pipe_fd = -1, .spill_fd = -1};
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	/* Set only for the keeper's end: each end of a pipe is a file description with its own O_NONBLOCK. */
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	error = capture_init_from_fd(capture, options, fds[0]);
	capture->uses_splice = error == 0 && capture_can_splice(options);
	if (error < 0)
		(void)close(fds[1]);
	else
		*ret_write_fd = fds[1];
	return error;
}

void capture_release(struct capture *capture)
{
	cleanup_close(&capture->pipe_fd);
	cleanup_close(&capture->spill_fd);
	free(capture->bytes_to_forward);
	free(capture->kept_bytes);
	*capture = (struct capture){.pipe_fd = -1, .spill_fd = -1};
}

/* Appends output to the spill file, up to its limit. */
static void capture_spill_bytes(struct capture *capture, const char *bytes, size_t len)
{
	uint64_t room = CAPTURE_SPILL_FILE_MAX_BYTES - capture->spilled_bytes;
	int error;

	if (capture->spill_fd < 0 || capture->spill_error)
		return;
	if (len > room) {
		len = (size_t)room;
		capture->spill_error = EFBIG;
	}
	error = io_write_all(capture->spill_fd, bytes, len);
	if (error < 0)
		capture->spill_error = -error;
	else
		capture->spilled_bytes += len;
}

/* Opens the spill file and writes the bytes kept so far, so that it holds the stream from its first byte. */
static void capture_open_spill_file(struct capture *capture)
{
	if (capture->spill_fd >= 0 || capture->spill_error)
		return;
	capture->spill_fd = openat(capture->options.spill_dirfd, capture->options.spill_file_name,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (capture->spill_fd < 0)
		capture->spill_error = errno;
	else
		capture_spill_bytes(capture, capture->kept_bytes, capture->kept_len);
}

int capture_ensure_spill_file(struct capture *capture)
{
	capture_open_spill_file(capture);
	return -capture->spill_error;
}

/* Appends output to kept_bytes. False: no memory. */
static bool capture_keep_bytes_in_memory(struct capture *capture, const char *bytes, size_t len)
{
	size_t room = capture->kept_room ? capture->kept_room : 4096;
	char *more;

	while (room - capture->kept_len < len)
		room *= 2;
	if (room > capture->kept_room) {
		more = realloc(capture->kept_bytes, room);
		if (!more)
			return false;
		capture->kept_bytes = more;
		capture->kept_room = room;
	}
	memcpy(capture->kept_bytes + capture->kept_len, bytes, len);
	capture->kept_len += len;
	return true;
}

/*
 * Counts a chunk; keeps and queues its part within the limit. From the first chunk that passes the limit on, whole
 * chunks also go to the spill file, which begins with what was kept and so has all of the output.
 */
static void capture_keep_and_queue_chunk(struct capture *capture, size_t len)
{
	const struct capture_options *options = &capture->options;
	bool fits =
		len <= capture->bytes_left_of_limit &&
		(!options->keeps_in_memory || capture_keep_bytes_in_memory(capture, capture->bytes_to_forward, len));
	size_t shown = len;

	capture->total_bytes += len;
	if (!fits) {
		if (!capture->is_truncated)
			capture_open_spill_file(capture);
		capture->is_truncated = true;
		capture_spill_bytes(capture, capture->bytes_to_forward, len);
		shown = len <= capture->bytes_left_of_limit ? 0 /* no memory to keep the chunk */
							    : (size_t)capture->bytes_left_of_limit;
		if (options->keeps_in_memory && shown > 0 &&
		    !capture_keep_bytes_in_memory(capture, capture->bytes_to_forward, shown))
			shown = 0;
	}
	/* Once a byte was left out, by the limit or for lack of memory, nothing more is kept or forwarded. */
	capture->bytes_left_of_limit = fits ? capture->bytes_left_of_limit - len : 0;
	capture->pending_at = 0;
	capture->pending_end = options->forward_fd >= 0 ? shown : 0;
}

static bool capture_read_pipe(struct capture *capture)
{
	ssize_t got = read(capture->pipe_fd, capture->bytes_to_forward, CAPTURE_CHUNK_BYTES);

	if (got > 0)
		capture_keep_and_queue_chunk(capture, (size_t)got);
	else if (got == 0 || (errno != EAGAIN && errno != EINTR)) /* EIO: the slave side of the terminal is closed */
		(void)close(steal_fd(&capture->pipe_fd));
	return got > 0;
}

/* Handles a failed write. At EPIPE closes the pipe, so that the program gets EPIPE too. Else the pipe is drained. */
static void capture_handle_forward_error(struct capture *capture, int error)
{
	capture->forward_error = error;
	capture->options.forward_fd = -1;
	capture->uses_splice = capture->forward_pipe_is_full = false;
	capture->pending_at = capture->pending_end;
	if (error == EPIPE) {
		capture->reader_is_gone = true;
		close_fd(&capture->pipe_fd);
	}
}

/*
 * Moves the program's output from its pipe to callgate's standard output, where that is a pipe, too. SPLICE_F_NONBLOCK
 * keeps splice(2) from waiting although forward_fd does not have O_NONBLOCK. EAGAIN when the program's pipe is readable
 * means that forward_fd is full.
 */
static bool capture_splice_to_forward_fd(struct capture *capture)
{
	ssize_t moved = splice(capture->pipe_fd, NULL, capture->options.forward_fd, NULL, CAPTURE_BYTES_PER_SPLICE_MAX,
			       SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

	if (moved > 0)
		capture->total_bytes += (uint64_t)moved;
	else if (moved == 0)
		(void)close(steal_fd(&capture->pipe_fd));
	else if (errno == EAGAIN)
		capture->forward_pipe_is_full = !capture->forward_pipe_is_full;
	else if (errno == EINVAL || errno == ENOSYS)
		/* read(2) and write(2) are used from now on */
		capture->uses_splice = capture->forward_pipe_is_full = false;
	else if (errno != EINTR)
		capture_handle_forward_error(capture, errno);
	if (moved >= 0)
		capture->forward_pipe_is_full = false;
	return moved > 0;
}

/* Writes what was read from the pipe to forward_fd. False: nothing could be written now. */
static bool capture_forward_pending_bytes(struct capture *capture)
{
	size_t left = capture->pending_end - capture->pending_at;
	ssize_t put = write(capture->options.forward_fd, capture->bytes_to_forward + capture->pending_at,
			    left < capture->forward_step_max_bytes ? left : capture->forward_step_max_bytes);

	if (put >= 0) {
		capture->pending_at += (size_t)put;
		return put > 0;
	}
	if (errno == EAGAIN || errno == EINTR)
		return false;
	capture_handle_forward_error(capture, errno);
	return true;
}

static bool capture_has_bytes_to_forward(const struct capture *capture)
{
	return capture->pending_at < capture->pending_end;
}

void capture_get_pollfd(const struct capture *capture, struct pollfd *ret_poll)
{
	bool out = capture_has_bytes_to_forward(capture) ||
		   (capture->uses_splice && capture->forward_pipe_is_full && capture->pipe_fd >= 0);

	/* The pipe is not read while bytes are pending: a slow reader slows the program, as without callgate. */
	*ret_poll = (struct pollfd){.fd = out ? capture->options.forward_fd : capture->pipe_fd,
				    .events = out ? POLLOUT : POLLIN};
}

bool capture_read_or_forward_chunk(struct capture *capture)
{
	if (capture_has_bytes_to_forward(capture))
		return capture_forward_pending_bytes(capture);
	if (capture->uses_splice && capture->pipe_fd >= 0)
		return capture_splice_to_forward_fd(capture);
	return capture->pipe_fd >= 0 && capture_read_pipe(capture);
}

bool capture_has_ended(const struct capture *capture)
{
	return capture->pipe_fd < 0 && !capture_has_bytes_to_forward(capture);
}

void capture_stop_forwarding(struct capture *capture)
{
	capture->options.forward_fd = -1;
	capture->uses_splice = capture->forward_pipe_is_full = false;
	capture->pending_at = capture->pending_end = 0;
	while (capture->pipe_fd >= 0 && capture_read_pipe(capture))
		;
}
