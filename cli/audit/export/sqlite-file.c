#include "cli/audit/export/sqlite-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SQLITE_HEADER_BYTES 100u /* length of the header of the file, which is at the beginning of page 1 */
/* Types of the pages of a table. */
#define SQLITE_LEAF_PAGE 0x0du
#define SQLITE_INTERIOR_PAGE 0x05u
#define SQLITE_LEAF_HEAD_BYTES 8u      /* bytes of a page before the pointers to its cells */
#define SQLITE_INTERIOR_HEAD_BYTES 12u
#define SQLITE_PAGES_MAX 0xfffffffeu
#define SQLITE_OVERFLOW_PAGE_BYTES (SQLITE_PAGE_BYTES - 4u)    /* bytes of a payload on each overflow page */
#define SQLITE_ROW_BYTES_IN_PAGE_MAX (SQLITE_PAGE_BYTES - 35u) /* bytes of a payload that fit on a leaf */
#define SQLITE_ROW_BYTES_IN_PAGE_MIN ((SQLITE_PAGE_BYTES - 12u) * 32u / 255u - 23u)

/* Writes a number in big-endian order, as all numbers of the format. */
static void sqlite_put_16_bits(uint8_t *out, size_t value)
{
	out[0] = (uint8_t)(value >> 8);
	out[1] = (uint8_t)value;
}

static void sqlite_put_32_bits(uint8_t *out, uint32_t value)
{
	sqlite_put_16_bits(out, value >> 16);
	sqlite_put_16_bits(out + 2, value & 0xffff);
}

/* Returns the number of the page to write after `page`. Skips the lock page, in which SQLite stores nothing. */
static uint32_t sqlite_get_next_page(uint32_t page)
{
	return page + 1 == SQLITE_LOCK_PAGE ? page + 2 : page + 1;
}

/* Appends a page to the file, and leaves out the page that SQLite never uses. Returns the page's number. */
static uint32_t sqlite_write_page(struct sqlite_file *file, const uint8_t bytes[SQLITE_PAGE_BYTES])
{
	static const uint8_t none[SQLITE_PAGE_BYTES];

	if (file->page_count + 1 == SQLITE_LOCK_PAGE) {
		(void)fwrite(none, 1, SQLITE_PAGE_BYTES, file->out);
		file->page_count++;
	}
	(void)fwrite(bytes, 1, SQLITE_PAGE_BYTES, file->out); /* ferror(3) finds errors after sqlite_file_end() */
	return ++file->page_count;
}

/* ---- pages of tables ---- */

static void sqlite_page_clear(struct sqlite_page *page)
{
	memset(page, 0, sizeof(*page));
	page->lowest_cell_offset = SQLITE_PAGE_BYTES;
}

/* Whether a cell of `len` bytes and its pointer fit into the page. start: bytes before the pointers. */
static int sqlite_page_has_room(const struct sqlite_page *page, size_t start, size_t len)
{
	return start + 2 * (page->cell_count + 1) + len <= page->lowest_cell_offset;
}

/* Reserves `len` bytes for a cell, and writes the pointer to the cell. Returns where to write the cell. */
static uint8_t *sqlite_page_add_cell(struct sqlite_page *page, size_t start, size_t len)
{
	page->lowest_cell_offset -= len;
	sqlite_put_16_bits(page->bytes + start + 2 * page->cell_count++, page->lowest_cell_offset);
	return page->bytes + page->lowest_cell_offset;
}

/* Fills in the header of a page, which is at offset `at` of the page. */
static void sqlite_page_write_header(struct sqlite_page *page, size_t at, unsigned type)
{
	page->bytes[at] = (uint8_t)type;
	sqlite_put_16_bits(page->bytes + at + 3, page->cell_count);
	sqlite_put_16_bits(page->bytes + at + 5, page->lowest_cell_offset);
}

/* Adds a child page and its last row number to an interior page. */
static void sqlite_level_add_cell(struct sqlite_level *level, uint32_t child, int64_t rowid)
{
	uint8_t cell[4 + SQLITE_VARINT_MAX];
	size_t len = 4 + sqlite_put_varint(cell + 4, (uint64_t)rowid);

	sqlite_put_32_bits(cell, child);
	memcpy(sqlite_page_add_cell(&level->page, SQLITE_INTERIOR_HEAD_BYTES, len), cell, len);
}

/* Writes the level's page, with `right` as its last child. Returns the page's number. */
static uint32_t sqlite_write_interior_page(struct sqlite_file *file, struct sqlite_level *level, uint32_t right)
{
	sqlite_page_write_header(&level->page, 0, SQLITE_INTERIOR_PAGE);
	sqlite_put_32_bits(level->page.bytes + 8, right);
	return sqlite_write_page(file, level->page.bytes);
}

/*
 * Adds a child page to a level of the tree. The newest child has no cell: if no further child comes, the newest child
 * becomes the page's right pointer. A full page is written without its last cell, and the child of that cell becomes
 * the page's right pointer. Therefore the next page has at least one cell.
 */
static int sqlite_level_add_child(struct sqlite_file *file, size_t at, uint32_t child, int64_t rowid)
{
	for (;; at++) {
		struct sqlite_level *level = &file->tree_levels[at];
		uint32_t written = 0;
		int64_t written_rowid = 0;

		if (at == SQLITE_LEVELS_MAX)
			return -EFBIG;
		if (at == file->level_count) {
			file->level_count++;
			memset(level, 0, sizeof(*level));
			sqlite_page_clear(&level->page);
		}
		if (level->rightmost_child_page &&
		    !sqlite_page_has_room(&level->page, SQLITE_INTERIOR_HEAD_BYTES, 4 + SQLITE_VARINT_MAX)) {
			level->page.cell_count--;
			level->page.lowest_cell_offset += 4;
			/* removes the key of the cell: a varint, of which all bytes but the last have bit 0x80 */
			for (const uint8_t *key = level->page.bytes + level->page.lowest_cell_offset;
			     level->page.lowest_cell_offset++, *key & 0x80;)
				key++;
			written = sqlite_write_interior_page(file, level, level->last_cell_page);
			written_rowid = level->last_cell_rowid;
			sqlite_page_clear(&level->page);
		}
		if (level->rightmost_child_page) {
			sqlite_level_add_cell(level, level->rightmost_child_page, level->rightmost_child_rowid);
			level->last_cell_page = level->rightmost_child_page;
			level->last_cell_rowid = level->rightmost_child_rowid;
		}
		level->rightmost_child_page = child;
		level->rightmost_child_rowid = rowid;
		if (!written)
			return file->page_count < SQLITE_PAGES_MAX ? 0 : -EFBIG;
		child = written;
		rowid = written_rowid;
	}
}

/* Writes the full page of rows, and adds it to the level above. 0 or -errno. */
static int sqlite_write_leaf_page(struct sqlite_file *file)
{
	uint32_t page;

	sqlite_page_write_header(&file->leaf_page, 0, SQLITE_LEAF_PAGE);
	page = sqlite_write_page(file, file->leaf_page.bytes);
	sqlite_page_clear(&file->leaf_page);
	return sqlite_level_add_child(file, 0, page, file->last_rowid);
}

void sqlite_table_begin(struct sqlite_file *file)
{
	sqlite_page_clear(&file->leaf_page);
	file->last_rowid = 0;
	file->level_count = 0;
}

int sqlite_table_end(struct sqlite_file *file, const char *name, const char *sql)
{
	uint32_t root;
	int r = 0;

	if (file->level_count == 0) { /* a table of one leaf page needs no interior pages */
		sqlite_page_write_header(&file->leaf_page, 0, SQLITE_LEAF_PAGE);
		root = sqlite_write_page(file, file->leaf_page.bytes);
	} else {
		r = file->leaf_page.cell_count > 0 ? sqlite_write_leaf_page(file) : 0;
		for (size_t at = 0; r == 0 && at + 1 < file->level_count; at++) {
			struct sqlite_level *level = &file->tree_levels[at];

			r = sqlite_level_add_child(file, at + 1,
						   sqlite_write_interior_page(file, level, level->rightmost_child_page),
						   level->rightmost_child_rowid);
		}
		if (r < 0)
			return r;
		root = file->tree_levels[file->level_count - 1].page.cell_count > 0
			       ? sqlite_write_interior_page(
					 file, &file->tree_levels[file->level_count - 1],
					 file->tree_levels[file->level_count - 1].rightmost_child_page)
			       : file->tree_levels[file->level_count - 1].rightmost_child_page;
	}
	file->schema_objects[file->schema_object_count++] = (struct sqlite_object){"table", name, sql, root};
	return r;
}

/* ---- rows ---- */

/* Writes the part of a payload that does not fit on the leaf to further pages. Returns the number of the first one. */
static uint32_t sqlite_write_overflow_pages(struct sqlite_file *file, const uint8_t *payload, size_t len)
{
	uint32_t first = sqlite_get_next_page(file->page_count);
	uint8_t page[SQLITE_PAGE_BYTES];

	while (len > 0) {
		size_t piece = len < SQLITE_OVERFLOW_PAGE_BYTES ? len : SQLITE_OVERFLOW_PAGE_BYTES;

		memset(page, 0, sizeof(page));
		sqlite_put_32_bits(page,
				   len > piece ? sqlite_get_next_page(sqlite_get_next_page(file->page_count)) : 0);
		memcpy(page + 4, payload, piece);
		(void)sqlite_write_page(file, page);
		payload += piece;
		len -= piece;
	}
	return first;
}

/* Returns how many bytes of a payload are stored on the leaf page. */
static size_t sqlite_get_row_bytes_in_leaf_page(size_t len)
{
	size_t local;

	if (len <= SQLITE_ROW_BYTES_IN_PAGE_MAX)
		return len;
	local = SQLITE_ROW_BYTES_IN_PAGE_MIN + (len - SQLITE_ROW_BYTES_IN_PAGE_MIN) % SQLITE_OVERFLOW_PAGE_BYTES;
	return local <= SQLITE_ROW_BYTES_IN_PAGE_MAX ? local : SQLITE_ROW_BYTES_IN_PAGE_MIN;
}

int sqlite_table_add(struct sqlite_file *file, const struct sqlite_value *values, size_t count)
{
	ssize_t payload = sqlite_encode_row(&file->row, values, count);
	uint8_t head[2 * SQLITE_VARINT_MAX], *cell;
	size_t len = (size_t)payload, local, head_len, cell_len;
	int r = 0;

	if (payload < 0)
		return (int)payload;
	local = sqlite_get_row_bytes_in_leaf_page(len);
	head_len = sqlite_put_varint(head, len);
	head_len += sqlite_put_varint(head + head_len, (uint64_t)file->last_rowid + 1);
	cell_len = head_len + local + (local < len ? 4 : 0);
	if (!sqlite_page_has_room(&file->leaf_page, SQLITE_LEAF_HEAD_BYTES, cell_len))
		r = sqlite_write_leaf_page(file);
	if (r < 0)
		return r;
	file->last_rowid++;
	cell = sqlite_page_add_cell(&file->leaf_page, SQLITE_LEAF_HEAD_BYTES, cell_len);
	memcpy(cell, head, head_len);
	memcpy(cell + head_len, file->row.bytes, local);
	if (local < len)
		sqlite_put_32_bits(cell + head_len + local,
				   sqlite_write_overflow_pages(file, file->row.bytes + local, len - local));
	return 0;
}

/* ---- the database file: its header and page 1 ---- */

void sqlite_file_begin(struct sqlite_file *file, FILE *out)
{
	static const uint8_t none[SQLITE_PAGE_BYTES];

	memset(file, 0, sizeof(*file));
	file->out = out;
	(void)sqlite_write_page(file, none); /* page 1 is written at the end */
}

/* Adds a view to the schema. The texts are borrowed until the file is ended. */
void sqlite_file_add_view(struct sqlite_file *file, const char *name, const char *sql)
{
	file->schema_objects[file->schema_object_count++] = (struct sqlite_object){"view", name, sql, 0};
}

/* Writes the first 100 bytes of the database. */
static void sqlite_put_file_header(const struct sqlite_file *file, uint8_t *header)
{
	memcpy(header, "SQLite format 3", 16);
	sqlite_put_16_bits(header + 16, SQLITE_PAGE_BYTES);
	header[18] = header[19] = 1; /* file format versions 1: the file has no write-ahead log */
	header[21] = 64;             /* fractions of a page for payloads: constants of the format */
	header[22] = header[23] = 32;
	sqlite_put_32_bits(header + 24, 1); /* counter of changes */
	sqlite_put_32_bits(header + 28, file->page_count);
	sqlite_put_32_bits(header + 40, 1); /* schema cookie: counts the changes of the schema */
	sqlite_put_32_bits(header + 44, 4); /* number of the schema format */
	sqlite_put_32_bits(header + 56, 1); /* UTF-8 */
	sqlite_put_32_bits(header + 92, 1); /* the change counter for which the number of pages is valid */
	sqlite_put_32_bits(header + 96, 3040001);
}

/* Makes page 1: the header of the file, and the table of the file's tables and views. */
static int file_make_first_page(struct sqlite_file *file, struct sqlite_page *page)
{
	sqlite_page_clear(page);
	for (size_t i = 0; i < file->schema_object_count; i++) {
		const struct sqlite_object *object = &file->schema_objects[i];
		const struct sqlite_value values[] = {
			{.type = SQLITE_TEXT, .text = object->type, .len = strlen(object->type)},
			{.type = SQLITE_TEXT, .text = object->name, .len = strlen(object->name)},
			{.type = SQLITE_TEXT, .text = object->name, .len = strlen(object->name)},
			{.type = SQLITE_INTEGER, .integer = object->root_page},
			{.type = SQLITE_TEXT, .text = object->sql, .len = strlen(object->sql)},
		};
		ssize_t len = sqlite_encode_row(&file->row, values, sizeof(values) / sizeof(values[0]));
		uint8_t head[2 * SQLITE_VARINT_MAX], *cell;
		size_t head_len;

		if (len < 0)
			return (int)len;
		head_len = sqlite_put_varint(head, (uint64_t)len);
		head_len += sqlite_put_varint(head + head_len, i + 1);
		if (!sqlite_page_has_room(page, SQLITE_HEADER_BYTES + SQLITE_LEAF_HEAD_BYTES, head_len + (size_t)len))
			return -EFBIG;
		cell = sqlite_page_add_cell(page, SQLITE_HEADER_BYTES + SQLITE_LEAF_HEAD_BYTES, head_len + (size_t)len);
		memcpy(cell, head, head_len);
		memcpy(cell + head_len, file->row.bytes, (size_t)len);
	}
	sqlite_page_write_header(page, SQLITE_HEADER_BYTES, SQLITE_LEAF_PAGE);
	sqlite_put_file_header(file, page->bytes);
	return 0;
}

int sqlite_file_end(struct sqlite_file *file)
{
	struct sqlite_page page;
	int r = file_make_first_page(file, &page);

	if (r < 0)
		return r;
	if (fseeko(file->out, 0, SEEK_SET) < 0)
		return -errno;
	(void)fwrite(page.bytes, 1, sizeof(page.bytes), file->out);
	return 0;
}

void sqlite_file_release(struct sqlite_file *file)
{
	free(file->row.bytes);
	file->row = (struct sqlite_row){NULL, 0};
	}
