#include "syscalls/account/meminfo.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/file/resolve.h"

#define MEMINFO_BYTES_MAX 16384 /* the kernel's file has 1.5 kB */

struct meminfo_values {
	uint64_t total, free; /* kB */
};

/* The new value of a line. False: the line is copied unchanged. Swap becomes 0, because the run may not use any. */
static bool find_limited_value(const char *key, size_t len, const struct meminfo_values *memory, uint64_t *ret_kb)
{
	const struct {
		const char *key;
		uint64_t kb;
	} changed[] = {
		{"MemTotal", memory->total}, {"MemFree", memory->free}, {"MemAvailable", memory->free}, {"Buffers", 0},
		{"Cached", 0}, {"SwapCached", 0}, {"SwapTotal", 0}, {"SwapFree", 0},
	};

	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++)
		if (strlen(changed[i].key) == len && memcmp(changed[i].key, key, len) == 0) {
			*ret_kb = changed[i].kb;
			return true;
		}
	return false;
}

int meminfo_write_limited(const char *text, uint64_t limit_bytes, uint64_t used_bytes, char *out, size_t size)
{
	struct meminfo_values memory = {.total = limit_bytes / 1024};

	if (size > 0)
		*out = '\0';
	memory.free = used_bytes < limit_bytes ? (limit_bytes - used_bytes) / 1024 : 0;
	while (*text) {
		size_t line = strcspn(text, "\n"), key = strcspn(text, ":");
		uint64_t kb;
		int len;

		if (text[line] == '\n')
			line++;
		if (key < line && find_limited_value(text, key, &memory, &kb))
			len = snprintf(out, size, "%.*s:%*s%11llu kB\n", (int)key, text, key < 12 ? (int)(12 - key) : 0,
				       "", (unsigned long long)kb);
		else
			len = snprintf(out, size, "%.*s", (int)line, text);
		if (len < 0 || (size_t)len >= size)
			return -EMSGSIZE;
		out += len;
		size -= (size_t)len;
		text += line;
	}
	return 0;
}

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
	again = open(file_link(fd).path, O_RDONLY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

int meminfo_replace_with_limited_file(const struct call *call, int fd)
{
	static const char total[] = "MemTotal:";
	const struct sandbox *sandbox = call->sandbox;
	const struct place *place = &call->place[0];
	uint64_t limit = sandbox->memory.limit_bytes;
	_cleanup_close_ int opened = fd;
	char text[MEMINFO_BYTES_MAX], limited[MEMINFO_BYTES_MAX];
	const char *line;
	ssize_t len;

	if (fd < 0 || !limit || !place->mount || !(place->mount->flags & MOUNT_PROC) ||
	    strcmp(place->virt, "/proc/meminfo") != 0)
		return steal_fd(&opened);
	len = pread(fd, text, sizeof(text) - 1, 0);
	if (len < 0)
		return steal_fd(&opened); /* an O_PATH descriptor, which cannot be read */
	text[len] = '\0';
	line = strstr(text, total);
	if (!line || limit >= strtoull(line + strlen(total), NULL, 10) * 1024)
		return steal_fd(&opened);
	len = meminfo_write_limited(text, limit, sandbox->memory.used_bytes(sandbox->memory.meter), limited,
				    sizeof(limited));
	return len < 0 ? (int)len : meminfo_make_file(limited);
}
