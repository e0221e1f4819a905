#include "keeper/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

char *utf8_copy_repaired(const char *bytes, size_t len, size_t *ret_len, bool *ret_changed)
{
	size_t at = 0, out = 0, step, bad;
	bool changed = false;
	uint32_t point;
	char *text;

	/* In the worst case every byte becomes U+FFFD, which has three bytes. */
	if (len > (SIZE_MAX - 1) / 3)
		return NULL;
	text = malloc(len * 3 + 1);
	if (!text)
		return NULL;
	while (at < len) {
		step = text_decode_utf8(bytes + at, len - at, &point, &bad);
		memcpy(text + out, step ? bytes + at : "\xef\xbf\xbd", step ? step : 3);
		out += step ? step : 3;
		at += step ? step : bad;
		changed |= step == 0;
	}
	text[out] = '\0';
	*ret_len = out;
	*ret_changed = changed;
	return text;
}
