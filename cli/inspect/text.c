#include "cli/inspect/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define BYTE_ORDER_MARK 0xfeffu
#define EMOJI_SELECTOR 0xfe0fu /* asks for the coloured form of the character before it */

/* Embeddings, overrides and isolates, which reorder what follows. The marks among bidirectional characters do not. */
static bool text_is_reordering(uint32_t point)
{
	return (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

static bool text_is_control(uint32_t point)
{
	return (point < 0x20 && point != '\n' && point != '\r' && point != '\t' && point != '\f') || point == 0x7f;
}

int inspect_text_find_characters(const char *text, size_t len, struct inspect_findings *findings)
{
	uint32_t line = 1, point = 0, last_line = 0, last_point = 0;
	size_t size, bad;
	int r = 0;

	for (size_t i = 0; r == 0 && i < len; i += size ? size : 1) {
		char what[64];
		bool reorders;

		size = text_decode_utf8(text + i, len - i, &point, &bad);
		line += text[i] == '\n';
		if (size == 0 || (point == BYTE_ORDER_MARK && i == 0) || point == EMOJI_SELECTOR)
			continue;
		reorders = text_is_reordering(point);
		if (!reorders && !text_is_control(point) && !text_is_invisible(point))
			continue;
		if (line == last_line && point == last_point)
			continue;
		last_line = line;
		last_point = point;
		(void)snprintf(what, sizeof(what), "%s U+%04X",
			       reorders                 ? "character that reorders the line:"
			       : text_is_control(point) ? "control character"
							: "invisible character",
			       point);
		r = inspect_findings_add(findings, reorders ? INSPECT_BIDIRECTIONAL : INSPECT_INVISIBLE, line, what);
	}
	return r;
}
