#include "replay/label.h"

#include <string.h>

size_t label_remove_file_and_index(const char *label, size_t len, char *out, size_t cap)
{
	const char *colon = memmem(label, len, ": ", 2), *end = label + len, *open;
	size_t at = 0;

	if (colon)
		label = colon + 2;
	open = memchr(label, '[', (size_t)(end - label));
	while (label < end && at < cap) {
		if (label == open) {
			const char *digits = open + 1;

			while (digits < end && *digits >= '0' && *digits <= '9')
				digits++;
			if (digits > open + 1 && digits < end && *digits == ']') {
				label = digits + 1;
				continue;
			}
		}
		out[at++] = *label++;
	}
	return at;
}
