/* Rows of SQLite's tables, as bytes: sqlite.org/fileformat2.html, "Record Format". No I/O. */
#ifndef CALLGATE_CLI_AUDIT_EXPORT_SQLITE_ROW_H
#define CALLGATE_CLI_AUDIT_EXPORT_SQLITE_ROW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SQLITE_VARINT_MAX 9u

enum sqlite_type { SQLITE_NULL, SQLITE_INTEGER, SQLITE_REAL, SQLITE_TEXT };

/* A value of a row; `type` says which member is valid. */
struct sqlite_value {
	enum sqlite_type type;
	int64_t integer;
	double real;
	const char *text; /* UTF-8; borrowed */
	size_t len;
};

/* A row in the database's format. */
struct sqlite_row {
	uint8_t *bytes; /* the encoded row; owned, freed with free(3) */
	size_t cap;
};

/* Writes a number of 1 to 9 bytes, seven bits in each, and eight in the ninth. Returns the length. */
size_t sqlite_put_varint(uint8_t *out, uint64_t value);

/* Encodes a row into row->bytes. Returns its length; -ENOMEM; or -EFBIG: the row is too large for SQLite. */
ssize_t sqlite_encode_row(struct sqlite_row *row, const struct sqlite_value *values, size_t count);

#endif
