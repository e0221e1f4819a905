/*
 * callgate-files: one request about files, in a sandbox.
 *
 * stdin: a line of JSON, then the content of a file that is written. stdout: the content of a file that is read.
 * stderr: lines of JSON: {"event": {…}} of a watch, and at last {"answer": {…}} or {"error": errno, "message": …}.
 */
#ifndef CALLGATE_AGENTS_FILES_FILES_H
#define CALLGATE_AGENTS_FILES_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

#define FILES_CHUNK_BYTES (128u << 10) /* of content, read at a time */
#define FILES_REQUEST_BYTES_MAX (1u << 20)
#define FILES_ENTRIES_MAX 100000u /* of a listing */
#define FILES_WATCHES_MAX 4096u   /* directories of a recursive watch */
#define FILES_MESSAGE_SIZE 4608   /* a path, and some words */
#define FILES_METADATA_PREFIX "user.e2b."

struct job {
	const json_t *request;
	const char *path;                 /* of the request; "" if it has none */
	struct buf answer;                /* JSON; empty: {} */
	char message[FILES_MESSAGE_SIZE]; /* why the request fails */
};

/* ---- main.c ---- */

/* Each sets the message and returns -error, for the function that does the request to return. */
int job_fail(struct job *job, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
int job_fail_with_path(struct job *job, int error,
		       const char *path); /* the message: the words for error, and the path */
/* Sets the answer, and takes the reference. 0, or -ENOMEM. */
int job_answer(struct job *job, json_t *answer);
const char *job_get_text(const struct job *job, const char *name); /* NULL: there is none */
/* Writes a line to stderr, and takes the reference. */
void files_write_message(json_t *message);
/* The content that follows the request. The number of bytes; 0: its end; or -errno. */
ssize_t files_read_input(char *bytes, size_t size);

/* ---- entry.c ---- */

bool entry_is_directory(const char *path); /* a link to one counts */
/* A name as text: bytes that are no UTF-8 are replaced. A new reference. */
json_t *entry_make_text(const char *text);
const char *entry_get_name(const char *path);
/* The EntryInfo of the E2B protocol. A new reference; NULL with errno. */
json_t *entry_describe(const char *path);
/* The attributes FILES_METADATA_PREFIX… of a file, by the rest of their names. A new reference. */
json_t *entry_read_metadata(const char *path);
/* Sets an entry as the answer. */
int entry_answer(struct job *job, const char *path);

/* ---- requests: 0 or -errno; main.c has the table ---- */

int files_stat(struct job *job);
int files_list(struct job *job);
int files_mkdir(struct job *job);
int files_move(struct job *job);
int files_remove(struct job *job);
int files_read(struct job *job);
int files_write(struct job *job);
int files_watch(struct job *job);
int files_usage(struct job *job);
int files_connect(struct job *job);

/* ---- change.c, list.c ---- */

/* Makes the directory that a path is in, with its parents. 0 or -errno. */
int change_make_parents(const char *path);
/* A path below a directory. Owned by the caller; NULL: no memory. */
char *list_join(const char *directory, const char *name);

#endif
