/* A directory with two files, "f" and "small", and a copy of it whose files get their content later. */
#ifndef CALLGATE_TESTS_FILL_RIG_H
#define CALLGATE_TESTS_FILL_RIG_H

#include <stddef.h>
#include <sys/stat.h>

#include "view/copy/fill.h"

#define CONTENT_BYTES 65536
#define OLD_SEC 1000000000

extern char content[CONTENT_BYTES]; /* of "f" */
extern char got[2 * CONTENT_BYTES]; /* room for what is read */
extern int base_fd, layer_fd, copy_fd;
extern struct fills *fills;

/* Before and after each test. Where the file system does not tell when a file was made, the test passes. */
void setup(void);
void teardown(void);
void reopen(void);

/* Writes a file of the directory, with an old time. */
void write_base(const char *name, const char *text, size_t len, mode_t mode);
/* Replaces a file of the layer by a copy of it, in which a text is put at a place. */
void rewrite(const char *name, size_t at, const void *bytes, size_t count);

/* Of a file of the copy. */
struct stat status(const char *name);
struct fill_file *find(const char *name);
int fill(const char *name, unsigned flags);
/* Fails unless the file of the copy has this content, and mode and time of the file that it is of. */
void check_has(const char *name, const char *text, size_t len, mode_t mode);
/* The record of a file; there must be one. */
struct fill_record read_record(const char *name);

#endif
