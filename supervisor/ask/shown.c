#include "supervisor/ask/shown.h"

#include <string.h>

#include "approval/show.h"
#include "base/sha256.h"

void shown_add_text(json_t *lines, const char *name, const char *text)
{
	char shown[SHOW_LONG_BYTES_MAX], sha256[SHA256_HEX_SIZE];
	const size_t len = strlen(text), hidden = show_long_text(shown, text, len);

	if (hidden == 0) {
		(void)json_array_append_new(lines, json_sprintf("%s: %s", name, shown));
		return;
	}
	sha256_hash_bytes(text, len, sha256);
	(void)json_array_append_new(lines, json_sprintf("%s: %s (%zu of %zu bytes are not shown; SHA-256 of all: %s)",
							name, shown, hidden, len, sha256));
}

bool shown_is_whole(const char *text)
{
	char shown[SHOW_LONG_BYTES_MAX];

	return show_long_text(shown, text, strlen(text)) == 0;
}
