#include "supervisor/session/scrub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ending.h"

#define SCRUB_MAPPINGS_MAX 1024u /* lines of /proc/self/maps; with more, clearing memory fails */
#define SCRUB_PROC_MAPS_BYTES_MAX (256u << 10) /* room for /proc/self/maps */
#define SCRUB_PAGE_BYTES 4096u
#define SCRUB_BYTES_KEPT_BEFORE_THREAD_POINTER 4096u /* thread-local variables, before the thread pointer */
#define SCRUB_BYTES_KEPT_AFTER_THREAD_POINTER 4096u  /* the C library's data of this thread, which it still uses */
/* bytes below the stack pointer that are overwritten, and not given back to the kernel, because calls here use them */
#define SCRUB_BYTES_BELOW_STACK_POINTER (16u << 10)

/* A line of /proc/self/maps. */
struct scrub_mapping {
	uintptr_t begin, end;
	bool is_writable, is_shared, has_file;
};

/* Static, because a forked child must not allocate. */
static struct scrub_mapping scrub_mapping[SCRUB_MAPPINGS_MAX];
static size_t scrub_count;
static char scrub_text[SCRUB_PROC_MAPS_BYTES_MAX];

/* ---- /proc/self/maps ---- */

static uintptr_t scrub_parse_hex(const char **at)
{
	uintptr_t value = 0;

	for (;; ++*at) {
		const char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return value;
	}
}

/* One line: "BEGIN-END rwxp OFFSET DEVICE INODE  PATH". False: it is of another form. */
static bool scrub_parse_line(const char *line, const char *end, struct scrub_mapping *mapping)
{
	const char *path;

	mapping->begin = scrub_parse_hex(&line);
	if (*line++ != '-')
		return false;
	mapping->end = scrub_parse_hex(&line);
	if (end - line < 6 || *line != ' ' || mapping->end <= mapping->begin)
		return false;
	mapping->is_writable = line[2] == 'w';
	mapping->is_shared = line[4] == 's';
	path = memchr(line, '/', (size_t)(end - line));
	mapping->has_file = path != NULL;
	return true;
}

int scrub_remember_mappings(void)
{
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t got = 0;
	char *line = scrub_text, *end;

	if (fd < 0)
		return -errno;
	while (len < sizeof(scrub_text) && (got = read(fd, scrub_text + len, sizeof(scrub_text) - len)) > 0)
		len += (size_t)got;
	(void)close(fd);
	if (got != 0)
		return got < 0 ? -errno : -E2BIG;
	for (scrub_count = 0; (end = memchr(line, '\n', len - (size_t)(line - scrub_text))); line = end + 1) {
		if (scrub_count == SCRUB_MAPPINGS_MAX)
			return -E2BIG;
		if (!scrub_parse_line(line, end, &scrub_mapping[scrub_count++]))
			return -EINVAL;
	}
	return scrub_count > 0 ? 0 : -EINVAL;
}

/* ---- clearing ---- */

static bool scrub_mapping_contains(const struct scrub_mapping *mapping, uintptr_t address)
{
	return address >= mapping->begin && address < mapping->end;
}

/* Clears memory from begin to end: whole pages are given back to the kernel. */
static void scrub_clear_memory_range(uintptr_t begin, uintptr_t end)
{
	const uintptr_t first = (begin + SCRUB_PAGE_BYTES - 1) & ~(uintptr_t)(SCRUB_PAGE_BYTES - 1);
	const uintptr_t last = end & ~(uintptr_t)(SCRUB_PAGE_BYTES - 1);

	if (begin >= end)
		return;
	/* Locked pages cannot be given back. */
	if (first >= last || madvise((void *)first, last - first, MADV_DONTNEED) < 0) {
		explicit_bzero((void *)begin, end - begin);
		return;
	}
	explicit_bzero((void *)begin, first - begin);
	explicit_bzero((void *)last, end - last);
}

/* Variables without initial values follow those of their file, in memory that has no file. */
static bool scrub_mapping_is_bss_of_file(const struct scrub_mapping *mapping, const struct scrub_mapping *before)
{
	const bool follows_variables = before && before->has_file && before->is_writable && !before->is_shared;

	return before && before->end == mapping->begin &&
	       (follows_variables || scrub_mapping_contains(mapping, (uintptr_t)scrub_text));
}

/* Clears a mapping from `begin` on but for the thread's own variables. */
static void scrub_clear_but_for_thread(const struct scrub_mapping *mapping, uintptr_t begin)
{
	const uintptr_t thread = (uintptr_t)__builtin_thread_pointer();

	if (!scrub_mapping_contains(mapping, thread)) {
		scrub_clear_memory_range(begin, mapping->end);
		return;
	}
	scrub_clear_memory_range(begin, thread - SCRUB_BYTES_KEPT_BEFORE_THREAD_POINTER);
	scrub_clear_memory_range(thread + SCRUB_BYTES_KEPT_AFTER_THREAD_POINTER, mapping->end);
}

/* Clears what returned functions have left on the stack, near the part that is in use. */
static void __attribute__((noinline)) scrub_near_stack(void)
{
	char dead[SCRUB_BYTES_BELOW_STACK_POINTER];

	explicit_bzero(dead, sizeof(dead));
}

/* Clears the stack but for the part in use. */
static void scrub_clear_stack(const struct scrub_mapping *mapping, uintptr_t in_use)
{
	scrub_near_stack();
	if (in_use - mapping->begin > SCRUB_BYTES_BELOW_STACK_POINTER)
		scrub_clear_memory_range(mapping->begin, in_use - SCRUB_BYTES_BELOW_STACK_POINTER);
	if (mapping->end - in_use > SCRUB_STACK_KEPT_BYTES)
		scrub_clear_but_for_thread(mapping, in_use + SCRUB_STACK_KEPT_BYTES);
}

void __attribute__((noinline)) scrub_memory(const void *kept)
{
	const uintptr_t stack = (uintptr_t)__builtin_frame_address(0);

	if (exit_runs_handlers)
		return; /* a sanitizer's own memory must stay */
	for (size_t i = 0; i < scrub_count; i++) {
		const struct scrub_mapping *mapping = &scrub_mapping[i], *before = i > 0 ? mapping - 1 : NULL;

		if (scrub_mapping_contains(mapping, (uintptr_t)kept))
			continue;
		if (mapping->is_shared)
			(void)munmap((void *)mapping->begin, mapping->end - mapping->begin);
		else if (scrub_mapping_contains(mapping, stack))
			scrub_clear_stack(mapping, stack);
		else if (mapping->is_writable && !mapping->has_file && !scrub_mapping_is_bss_of_file(mapping, before))
			scrub_clear_but_for_thread(mapping, mapping->begin);
	}
	explicit_bzero(scrub_text, sizeof(scrub_text));
}
