/* A file that callgate inspect looks at, and what kind of file it is. */
#ifndef CALLGATE_CLI_INSPECT_SUBJECT_H
#define CALLGATE_CLI_INSPECT_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum inspect_type {
	INSPECT_TYPE_ELF,
	INSPECT_TYPE_PYTHON,
	INSPECT_TYPE_JAVASCRIPT,
	INSPECT_TYPE_SHELL,
	INSPECT_TYPE_NOTEBOOK, /* of Jupyter */
	INSPECT_TYPE_PACKAGE,  /* a package.json */
	INSPECT_TYPE_TEXT,     /* text without a parser */
	INSPECT_TYPE_DATA,     /* anything else */
	INSPECT_TYPE_MAX,
};

#define INSPECT_TEXT_BYTES_MAX (16u << 20) /* larger texts are not read */
#define INSPECT_ELF_BYTES_MAX (256u << 20) /* larger ELF files are not read */

/* A file that is open. */
struct inspect_subject {
	const char *path; /* borrowed */
	int fd;           /* owned */
	mode_t mode;
	uint64_t size;
	enum inspect_type type;
	char *text; /* the content of a text; owned; NULL: it is none, or too large */
	size_t text_len;
	uint32_t lines; /* of the text, at least as many as a parser counts; of other files 0 */
};

const char *inspect_type_get_name(enum inspect_type type);
bool inspect_type_find(const char *name, enum inspect_type *ret_type);

/* The type that an interpreter of this name runs; INSPECT_TYPE_TEXT: no interpreter that has a parser here. */
enum inspect_type inspect_find_interpreter(const char *name);

/*
 * Tells the type by the first bytes (\177ELF, "#!") and then by the suffix of the path. What has NUL bytes at its start
 * is data, whatever its name, unless it begins with "#!": such a file can be executed.
 */
enum inspect_type inspect_find_type(const char *path, const char *start, size_t len);

/*
 * Opens a regular file and reads it, if it is a text. type: what to take it for; INSPECT_TYPE_MAX: what it is.
 * inspect_subject_release() releases. 0; -EINVAL: no regular file; or -errno.
 */
int inspect_subject_open(const char *path, enum inspect_type type, struct inspect_subject *ret_subject);
void inspect_subject_release(struct inspect_subject *subject);
#define _cleanup_subject_ __attribute__((cleanup(inspect_subject_release)))

#endif
