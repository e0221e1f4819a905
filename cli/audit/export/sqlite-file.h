/*
 * Writes a database file of SQLite 3 (sqlite.org/fileformat2.html) row by row, in one pass and constant memory. The
 * library is not used, because it would add 1.9 MB to a program that is started for every run.
 */
#ifndef CALLGATE_CLI_AUDIT_EXPORT_SQLITE_FILE_H
#define CALLGATE_CLI_AUDIT_EXPORT_SQLITE_FILE_H

#include <stdio.h>

#include "cli/audit/export/sqlite-row.h"

#define SQLITE_PAGE_BYTES 4096u
/* number of the page whose bytes SQLite locks; SQLite stores nothing in that page */
#define SQLITE_LOCK_PAGE ((1u << 30) / SQLITE_PAGE_BYTES + 1)
#define SQLITE_LEVELS_MAX 8u /* enough levels: each page of a higher level has at least 200 child pages */
#define SQLITE_SCHEMA_OBJECTS_MAX 8u

/* A page of a table's tree, with cells for rows or for child pages. */
struct sqlite_page {
	uint8_t bytes[SQLITE_PAGE_BYTES];
	size_t cell_count;
	size_t lowest_cell_offset; /* offset of the lowest cell */
};

/* One level of the tree of a table that is being written. Only one table is written at a time. */
struct sqlite_level {
	struct sqlite_page page;
	uint32_t rightmost_child_page; /* the last child page, which has no cell yet; 0: none */
	int64_t rightmost_child_rowid;  /* rowid of the last row in the rightmost child page */
	/* the child page that the last cell points to; last_cell_rowid: rowid of that child page's last row */
	uint32_t last_cell_page;
	int64_t last_cell_rowid;
};

/* A table or view, as a row of the database's schema. */
struct sqlite_object {
	const char *type, *name, *sql; /* borrowed until sqlite_file_end */
	uint32_t root_page;                 /* 0: a view */
};

/* An SQLite database that is being written from its start to its end. */
struct sqlite_file {
	FILE *out; /* borrowed; seekable */
	uint32_t page_count; /* pages so far */
	struct sqlite_page leaf_page;
	int64_t last_rowid; /* rowid of the last row of the table that is being written */
	struct sqlite_level tree_levels[SQLITE_LEVELS_MAX];
	size_t level_count; /* levels above the leaves */
	struct sqlite_object schema_objects[SQLITE_SCHEMA_OBJECTS_MAX];
	size_t schema_object_count;
	struct sqlite_row row; /* the encoded row that was added last; its buffer is reused */
};

/* Begins a file in an empty seekable stream. */
void sqlite_file_begin(struct sqlite_file *file, FILE *out);
/* Begins a table. Its first column must not be an INTEGER PRIMARY KEY. */
void sqlite_table_begin(struct sqlite_file *file);
/* Adds a row. 0, -ENOMEM, or -EFBIG. */
int sqlite_table_add(struct sqlite_file *file, const struct sqlite_value *values, size_t count);
/* Ends a table. sql: its CREATE TABLE statement. Texts are borrowed until sqlite_file_end. 0 or -EFBIG. */
int sqlite_table_end(struct sqlite_file *file, const char *name, const char *sql);
void sqlite_file_add_view(struct sqlite_file *file, const char *name, const char *sql);
/* Ends the file. 0 or -errno. The caller finds errors of writing by ferror(3). */
int sqlite_file_end(struct sqlite_file *file);
void sqlite_file_release(struct sqlite_file *file);

#endif
