/* buf_put_escaped(), apart from buf.c, so that programs which only gather texts do not need base/text.c. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

void buf_put_escaped(struct buf *buf, const char *text)
{
	const size_t len = strlen(text ? text : "?");
	_cleanup_free_ char *escaped = malloc(len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1);

	if (escaped)
		buf_add(buf, escaped, text_escape_for_display(escaped, text ? text : "?", len, false));
	else
		buf->failed = true;
}
