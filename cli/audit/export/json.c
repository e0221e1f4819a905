#include "cli/audit/export/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/audit/fields.h"

void json_put_text(struct buf *out, const char *key, const struct scan_text *text)
{
	if (!text->at)
		return;
	buf_puts(out, key);
	buf_puts(out, "\"");
	audit_put_text(out, text);
	buf_puts(out, "\"");
}

void json_put_string(struct buf *out, const char *key, const char *text)
{
	json_t *string = text ? json_string(text) : NULL;
	_cleanup_free_ char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;

	json_decref(string);
	if (!text)
		return;
	buf_puts(out, key);
	if (quoted)
		audit_put_text(out, &(struct scan_text){quoted, strlen(quoted)});
	else
		out->failed = true;
}

void json_put_field(struct buf *out, const char *key, const json_t *line, const char *name)
{
	json_put_string(out, key, json_string_value(json_object_get(line, name)));
}

/* Writes a number. key: the JSON before it. */
void json_put_int(struct buf *out, const char *key, int64_t number)
{
	buf_printf(out, "%s%lld", key, (long long)number);
}

void json_put_microseconds(struct buf *out, const char *key, uint64_t ns)
{
	buf_printf(out, "%s%llu.%03u", key, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

struct scan_text json_get_basename(const struct scan_text *path)
{
	const char *slash = path->at ? memrchr(path->at, '/', path->len) : NULL;

	if (!slash || slash + 1 == path->at + path->len)
		return *path;
	return (struct scan_text){slash + 1, (size_t)(path->at + path->len - slash - 1)};
}
