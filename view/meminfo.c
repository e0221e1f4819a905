#include "view/meminfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What /proc/meminfo shows of a limited memory. */
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

bool meminfo_limit_is_below_total(const char *text, uint64_t limit_bytes)
{
	static const char total[] = "MemTotal:";
	const char *line = strstr(text, total);

	return line && limit_bytes < strtoull(line + strlen(total), NULL, 10) * 1024;
}
