#include "tests/unit/memory-search.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/sanitized.h"

#define WINDOW (1u << 20)

bool memory_search_possible(void)
{
	return !SANITIZED;
}

void memory_invert(uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)~bytes[i];
}

static size_t count(const uint8_t *data, size_t size, const uint8_t *inverted, size_t len)
{
	size_t found = 0;

	for (size_t at = 0; at + len <= size; at++) {
		size_t same = 0;

		while (same < len && (data[at + same] ^ inverted[same]) == 0xff)
			same++;
		found += same == len;
	}
	return found;
}

/* Windows overlap by less than the bytes' length: what lies over an edge is found, and nothing twice. */
static size_t search_range(int fd, unsigned long from, unsigned long to, uint8_t *window, const uint8_t *inverted,
			   size_t len)
{
	size_t found = 0;

	while (from + len <= to) {
		size_t want = to - from < WINDOW ? to - from : WINDOW;
		ssize_t got = pread(fd, window, want, (off_t)from);

		if (got < (ssize_t)len)
			break;
		found += count(window, (size_t)got, inverted, len);
		from += (size_t)got - len + 1;
	}
	return found;
}

size_t memory_search(const uint8_t *inverted, size_t len)
{
	uint8_t *window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *maps = fopen("/proc/self/maps", "re");
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	size_t found = 0;
	char line[512];

	ck_assert(maps != NULL && fd >= 0 && window != MAP_FAILED);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		char rights[8];

		if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 || rights[0] != 'r' || rights[1] != 'w')
			continue;
		/* the window may have been joined to its neighbours: all but it */
		if (from <= (unsigned long)window && (unsigned long)window < to) {
			found += search_range(fd, from, (unsigned long)window, window, inverted, len);
			from = (unsigned long)window + WINDOW;
		}
		found += search_range(fd, from, to, window, inverted, len);
	}
	(void)close(fd);
	(void)fclose(maps);
	(void)munmap(window, WINDOW);
	return found;
}
