/* Fields of a line, without escapes and with defaults. */
#include <stdlib.h>
#include <string.h>

#include "audit/read.h"
#include "base/text.h"

#include "base/banned.h"

const char *audit_line_type(const json_t *line)
{
	const char *type = json_string_value(json_object_get(line, "type"));

	return type ? type : "record";
}

char *audit_line_bytes(const json_t *line, const char *key, size_t *ret_len)
{
	const json_t *field = json_object_get(line, key);
	size_t len = json_string_length(field);
	char *bytes;

	if (!json_is_string(field))
		return NULL;
	bytes = malloc(len + 1);
	if (!bytes)
		return NULL;
	memcpy(bytes, json_string_value(field), len);
	len = text_unescape(bytes, len);
	bytes[len] = '\0';
	*ret_len = len;
	return bytes;
}

char *audit_line_resolved(const json_t *line, int second, size_t *ret_len)
{
	const char *key = second ? "resolved2" : "resolved";
	char *bytes;

	if (json_object_get(line, key)) /* null: nothing was resolved */
		return audit_line_bytes(line, key, ret_len);
	bytes = audit_line_bytes(line, second ? "path2" : "path", ret_len);
	if (bytes && bytes[0] != '/') { /* a canonical path is absolute */
		free(bytes);
		return NULL;
	}
	return bytes;
}

int64_t audit_line_tid(const json_t *line)
{
	const json_t *tid = json_object_get(line, "tid");

	return json_integer_value(tid ? tid : json_object_get(line, "pid"));
}
