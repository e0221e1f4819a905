#include "syscalls/account/copying.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/call/call.h"
#include "syscalls/call/work.h"

/* The least speed that a copy is expected to have, on a slow disk of a busy machine; what each may take besides. */
#define COPYING_BYTES_PER_MS 4096
#define COPYING_PAUSE_MS 1000
#define COPYING_MS_MAX (60 * 60 * 1000)
#define NS_PER_MS UINT64_C(1000000)

/* Until when the supervisor thread may take to copy so many bytes. */
static uint64_t copying_find_end_ns(off_t bytes)
{
	const off_t ms = COPYING_PAUSE_MS + bytes / COPYING_BYTES_PER_MS;

	return io_read_clock_ns() + (uint64_t)(ms < COPYING_MS_MAX ? ms : COPYING_MS_MAX) * NS_PER_MS;
}

static bool copying_was_done(const struct copied_files *files, const struct stat *status)
{
	for (unsigned i = 0; i < files->count && i < COPIED_FILES_MAX; i++)
		if (files->file[i].dev == status->st_dev && files->file[i].ino == status->st_ino)
			return true;
	return false;
}

static void copying_note(struct copied_files *files, const struct stat *status)
{
	const unsigned at = files->count % COPIED_FILES_MAX;

	files->file[at].dev = status->st_dev;
	files->file[at].ino = status->st_ino;
	/* stays at least COPIED_FILES_MAX once it was */
	files->count = files->count == 2 * COPIED_FILES_MAX - 1 ? COPIED_FILES_MAX : files->count + 1;
}

/* Opens the file for writing, or, where that is refused, sets its mode to what it is. 0 or -errno. */
static int copying_try(int fd)
{
	const struct io_proc_fd_path link = io_proc_fd_path(fd);
	_cleanup_close_ int writer = open(link.path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (writer >= 0 || (errno != EACCES && errno != ETXTBSY))
		return writer < 0 ? -errno : 0;
	return fstat(fd, &status) < 0 || chmod(link.path, status.st_mode & 07777) < 0 ? -errno : 0;
}

/*
 * Has the file of fd copied. A file that cannot be copied so is left to the call itself, which then fails or copies it.
 */
static int64_t copying_run_work(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	(void)work;
	while (copying_try(fd) == -EINTR && go_on(ctx))
		;
	return 0;
}

static void copying_free_work(struct call_work *work)
{
	(void)work; /* it is static */
}

int copying_begin(struct call *call, int fd)
{
	struct sandbox *sandbox = call->sandbox;
	struct statfs system;
	struct stat status;
	static struct call_work copying = {.run = copying_run_work, .free = copying_free_work};
	bool is_inline;
	int copied;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < COPYING_QUICK_BYTES ||
	    fstatfs(fd, &system) < 0 || system.f_type != OVERLAYFS_SUPER_MAGIC)
		return 0;
	/* A call that was asked about is performed as it was, at once. In others, only small files are copied. */
	is_inline = call->effect_check || status.st_size < COPYING_INLINE_BYTES_MAX;
	atomic_store(&sandbox->copying_until_ns, copying_find_end_ns(is_inline ? status.st_size : 0));
	if (is_inline || copying_was_done(&sandbox->copied_files, &status))
		return 0;
	if (call->has_copied_file) {
		copying_note(&sandbox->copied_files, &status);
		return 0;
	}
	copied = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copied < 0)
		return call_fail(call, -errno);
	call->outcome.kind = OUTCOME_COPY_FIRST;
	call->outcome.fd = copied;
	call->outcome.blocking_work = &copying;
	return -1;
}
