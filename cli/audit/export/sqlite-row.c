#include "cli/audit/export/sqlite-row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SQLITE_PAYLOAD_BYTES_MAX (1u << 30)

size_t sqlite_put_varint(uint8_t *out, uint64_t value)
{
	size_t len = 1;

	if (value >> 56) {
		out[8] = (uint8_t)value;
		value >>= 8;
		for (size_t i = 8; i-- > 0; value >>= 7)
			out[i] = (uint8_t)(0x80 | (value & 0x7f));
		return SQLITE_VARINT_MAX;
	}
	while (value >> (7 * len))
		len++;
	for (size_t i = len; i-- > 0; value >>= 7)
		out[i] = (uint8_t)((value & 0x7f) | (i + 1 < len ? 0x80 : 0));
	return len;
}

/* Returns an integer's type code for the header of a row. *ret_bytes: length of the stored integer. */
static unsigned integer_get_type_code(int64_t value, size_t *ret_bytes)
{
	static const struct {
		unsigned bits;
		size_t bytes;
	} types[] = {{8, 1}, {16, 2}, {24, 3}, {32, 4}, {48, 6}, {64, 8}};

	*ret_bytes = 0;
	if (value == 0 || value == 1)
		return value == 0 ? 8 : 9;
	for (unsigned i = 0; i < 5; i++) {
		int64_t limit = INT64_C(1) << (types[i].bits - 1);

		if (value >= -limit && value < limit) {
			*ret_bytes = types[i].bytes;
			return i + 1;
		}
	}
	*ret_bytes = 8;
	return 6;
}

static void put_big_endian(uint8_t *out, uint64_t value, size_t bytes)
{
	for (size_t i = bytes; i-- > 0; value >>= 8)
		out[i] = (uint8_t)value;
}

/* Returns a value's type code for the header of a row. *ret_bytes: length of the stored value. */
static uint64_t value_get_type_code(const struct sqlite_value *value, size_t *ret_bytes)
{
	*ret_bytes = 0;
	switch (value->type) {
	case SQLITE_INTEGER:
		return integer_get_type_code(value->integer, ret_bytes);
	case SQLITE_REAL:
		*ret_bytes = 8;
		return 7;
	case SQLITE_TEXT:
		*ret_bytes = value->len;
		return 13 + 2 * (uint64_t)value->len;
	case SQLITE_NULL:
	default:
		return 0;
	}
}

/* Writes a value in the row's format, in so many bytes. */
static void value_write_bytes(uint8_t *out, const struct sqlite_value *value, size_t bytes)
{
	uint64_t bits;

	switch (value->type) {
	case SQLITE_INTEGER:
		put_big_endian(out, (uint64_t)value->integer, bytes);
		break;
	case SQLITE_REAL:
		memcpy(&bits, &value->real, sizeof(bits));
		put_big_endian(out, bits, bytes);
		break;
	case SQLITE_TEXT:
		if (bytes > 0)
			memcpy(out, value->text, bytes);
		break;
	case SQLITE_NULL:
	default:
		break;
	}
}

ssize_t sqlite_encode_row(struct sqlite_row *row, const struct sqlite_value *values, size_t count)
{
	size_t types = 0, body = 0, bytes, head, at;
	uint8_t scratch[SQLITE_VARINT_MAX];

	for (size_t i = 0; i < count; i++) {
		types += sqlite_put_varint(scratch, value_get_type_code(&values[i], &bytes));
		body += bytes;
	}
	head = types + 1;
	if (head > 0x7f) /* the header's length includes the bytes of the length itself */
		head++;
	if (head > 0x3fff || body > SQLITE_PAYLOAD_BYTES_MAX)
		return -EFBIG;
	if (head + body > row->cap) {
		uint8_t *grown = realloc(row->bytes, 2 * (head + body));

		if (!grown)
			return -ENOMEM;
		row->bytes = grown;
		row->cap = 2 * (head + body);
	}
	at = sqlite_put_varint(row->bytes, head);
	body = head;
	for (size_t i = 0; i < count; i++) {
		at += sqlite_put_varint(row->bytes + at, value_get_type_code(&values[i], &bytes));
		value_write_bytes(row->bytes + body, &values[i], bytes);
		body += bytes;
	}
	return (ssize_t)body;
}
