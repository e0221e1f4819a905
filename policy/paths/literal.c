#include "policy/paths/literal.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "policy/paths/glob.h"

const char *literal_find_objection(const char *path)
{
	const size_t len = strlen(path);

	if (!text_is_utf8(path, len))
		return "a policy is UTF-8, and the name is not";
	return glob_is_wild(path, len) ? "in a rule \"*\" stands for any text" : NULL;
}

char *literal_write(const char *top, const char *tail)
{
	_cleanup_buf_ struct buf out = {0};
	const char *open;

	buf_puts(&out, top);
	if (*top && *tail)
		buf_puts(&out, "/");
	for (; (open = strstr(tail, "${")); tail = open + 2) {
		buf_add(&out, tail, (size_t)(open - tail));
		buf_puts(&out, "$${");
	}
	buf_puts(&out, tail);
	return buf_take_text(&out);
}
