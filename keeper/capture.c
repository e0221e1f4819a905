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

#include "base/banned.h"

/*
 * poll(2) says a pipe is writable when PIPE_BUF bytes fit; a terminal and a socket then take at least as much in
 * practice. A regular file never blocks in this sense.
 */
static size_t forward_step(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? CAPTURE_CHUNK_BYTES : PIPE_BUF;
}

int capture_init_from(struct capture *capture, const struct capture_options *options, int fd)
{
	*capture = (struct capture){.options = *options, .pipe_fd = fd, .spill_fd = -1};
	capture->pending = malloc(CAPTURE_CHUNK_BYTES);
	if (!capture->pending) {
		capture_done(capture);
		return -ENOMEM;
	}
	capture->left_bytes = options->limit_bytes;
	capture->forward_step = forward_step(options->forward_fd);
	return 0;
}

int capture_init(struct capture *capture, const struct capture_options *options, int *ret_write_fd)
{
	int fds[2], error;

	*capture = (struct capture){.pipe_fd = -1, .spill_fd = -1};
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	/* Only our end: O_NONBLOCK is per description, and each end of a pipe has its own. */
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	error = capture_init_from(capture, options, fds[0]);
	if (error < 0)
		(void)close(fds[1]);
	else
		*ret_write_fd = fds[1];
	return error;
}

void capture_done(struct capture *capture)
{
	cleanup_close(&capture->pipe_fd);
	cleanup_close(&capture->spill_fd);
	free(capture->pending);
	free(capture->kept);
	*capture = (struct capture){.pipe_fd = -1, .spill_fd = -1};
}

/* ---- the spill file ---- */

static void spill(struct capture *capture, const char *bytes, size_t len)
{
	uint64_t room = CAPTURE_SPILL_MAX_BYTES - capture->spilled_bytes;
	int error;

	if (capture->spill_fd < 0 || capture->spill_error)
		return;
	if (len > room) {
		len = (size_t)room;
		capture->spill_error = EFBIG;
	}
	error = io_write_full(capture->spill_fd, bytes, len);
	if (error < 0)
		capture->spill_error = -error;
	else
		capture->spilled_bytes += len;
}

/* Begins with what was kept so far, so that the file holds the stream from its first byte. */
static void spill_begin(struct capture *capture)
{
	if (capture->spill_fd >= 0 || capture->spill_error)
		return;
	capture->spill_fd = openat(capture->options.spill_dirfd, capture->options.spill_name,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (capture->spill_fd < 0)
		capture->spill_error = errno;
	else
		spill(capture, capture->kept, capture->kept_len);
}

int capture_spill_all(struct capture *capture)
{
	spill_begin(capture);
	return -capture->spill_error;
}

/* ---- in ---- */

static bool keep(struct capture *capture, const char *bytes, size_t len)
{
	size_t room = capture->kept_room ? capture->kept_room : 4096;
	char *more;

	while (room - capture->kept_len < len)
		room *= 2;
	if (room > capture->kept_room) {
		more = realloc(capture->kept, room);
		if (!more)
			return false;
		capture->kept = more;
		capture->kept_room = room;
	}
	memcpy(capture->kept + capture->kept_len, bytes, len);
	capture->kept_len += len;
	return true;
}

/* Counts a chunk; keeps and queues what is within the limit; once past it, all of the stream goes to the spill file. */
static void take(struct capture *capture, size_t len)
{
	const struct capture_options *options = &capture->options;
	bool fits = len <= capture->left_bytes && (!options->keep || keep(capture, capture->pending, len));
	size_t shown = len;

	capture->bytes += len;
	if (!fits) {
		if (!capture->truncated)
			spill_begin(capture);
		capture->truncated = true;
		spill(capture, capture->pending, len);
		shown = len <= capture->left_bytes ? 0 /* memory ran out */ : (size_t)capture->left_bytes;
		if (options->keep && shown > 0 && !keep(capture, capture->pending, shown))
			shown = 0;
	}
	/* Nothing after the first missing byte is shown, even where memory ran out rather than the limit. */
	capture->left_bytes = fits ? capture->left_bytes - len : 0;
	capture->pending_at = 0;
	capture->pending_end = options->forward_fd >= 0 ? shown : 0;
}

static bool move_in(struct capture *capture)
{
	ssize_t got = read(capture->pipe_fd, capture->pending, CAPTURE_CHUNK_BYTES);

	if (got > 0)
		take(capture, (size_t)got);
	else if (got == 0 || (errno != EAGAIN && errno != EINTR)) /* EIO: a terminal that no program holds any more */
		(void)close(steal_fd(&capture->pipe_fd));
	return got > 0;
}

/* ---- out ---- */

static bool move_out(struct capture *capture)
{
	size_t left = capture->pending_end - capture->pending_at;
	ssize_t put = write(capture->options.forward_fd, capture->pending + capture->pending_at,
			    left < capture->forward_step ? left : capture->forward_step);

	if (put >= 0) {
		capture->pending_at += (size_t)put;
		return put > 0;
	}
	if (errno == EAGAIN || errno == EINTR)
		return false;
	/* As natively, the program learns by EPIPE that nobody reads on; after any other failure it is drained. */
	capture->forward_error = errno;
	capture->options.forward_fd = -1;
	capture->pending_at = capture->pending_end;
	if (capture->forward_error == EPIPE) {
		capture->reader_gone = true;
		cleanup_close(&capture->pipe_fd);
		capture->pipe_fd = -1;
	}
	return true;
}

static bool waits_to_be_shown(const struct capture *capture)
{
	return capture->pending_at < capture->pending_end;
}

void capture_poll(const struct capture *capture, struct pollfd *ret_poll)
{
	bool out = waits_to_be_shown(capture);

	/* While something waits, the pipe is left alone: a slow reader slows the program, as natively. */
	*ret_poll = (struct pollfd){.fd = out ? capture->options.forward_fd : capture->pipe_fd,
				    .events = out ? POLLOUT : POLLIN};
}

bool capture_move(struct capture *capture)
{
	if (waits_to_be_shown(capture))
		return move_out(capture);
	return capture->pipe_fd >= 0 && move_in(capture);
}

bool capture_ended(const struct capture *capture)
{
	return capture->pipe_fd < 0 && !waits_to_be_shown(capture);
}

void capture_hurry(struct capture *capture)
{
	capture->options.forward_fd = -1;
	capture->pending_at = capture->pending_end = 0;
	while (capture->pipe_fd >= 0 && move_in(capture))
		;
}
