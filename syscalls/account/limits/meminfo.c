#include "syscalls/account/limits/meminfo.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/file/resolve.h"

/* Makes a file with the text, which is read-only like the kernel's file. */
static int meminfo_make_file(const char *text)
{
	_cleanup_close_ int fd = memfd_create("meminfo", MFD_CLOEXEC);
	int error, again;

	if (fd < 0)
		return -errno;
	error = io_write_all(fd, text, strlen(text));
	if (error < 0)
		return error;
	again = open(io_proc_fd_path(fd).path, O_RDONLY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

int meminfo_replace_with_limited_file(const struct call *call, int fd)
{
	const struct sandbox *sandbox = call->sandbox;
	const struct place *place = &call->resolved_place[0];
	uint64_t limit = sandbox->memory.limit_bytes;
	_cleanup_close_ int opened = fd;
	char text[MEMINFO_BYTES_MAX], limited[MEMINFO_BYTES_MAX];
	ssize_t len;

	if (fd < 0 || !limit || !place->mount || !(place->mount->flags & MOUNT_PROC) ||
	    strcmp(place->virt, "/proc/meminfo") != 0)
		return steal_fd(&opened);
	len = pread(fd, text, sizeof(text) - 1, 0);
	if (len < 0)
		return steal_fd(&opened); /* an O_PATH descriptor: it cannot be read, so the target may have it */
	text[len] = '\0';
	if (!meminfo_limit_is_below_total(text, limit))
		return steal_fd(&opened);
	len = meminfo_write_limited(text, limit, sandbox->memory.used_bytes(sandbox->memory.meter), limited,
				    sizeof(limited));
	return len < 0 ? (int)len : meminfo_make_file(limited);
}
