/*
 * callgate-files, a program that runs in a sandbox and does one request about files there.
 *
 * stdin: the request, a line of JSON, and after it the content of a file that is to be written. stdout: the content of
 * a file that is read. stderr: lines of JSON: {"event": {…}} for each change that a watch reports, and at last
 * {"answer": {…}} or {"error": errno, "message": …}.
 */
#ifndef CALLGATE_AGENTS_FILES_FILES_H
#define CALLGATE_AGENTS_FILES_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

#define FILES_CHUNK_BYTES (128u << 10) /* content is read in pieces of this size */
#define FILES_REQUEST_BYTES_MAX (1u << 20)
#define FILES_LISTED_ENTRIES_MAX 100000u     /* entries in one listing */
#define FILES_WATCHED_DIRECTORIES_MAX 4096u       /* directories that one recursive watch covers */
#define FILES_ERROR_MESSAGE_SIZE 4608 /* room for a path and some words */
#define FILES_METADATA_PREFIX "user.e2b." /* a file's metadata of E2B are extended attributes of this prefix */

/* The file request that callgate-files is serving. */
struct files_job {
	const json_t *request;
	const char *path;                             /* the request's path; "" if it has none */
	struct buf answer;                            /* JSON text; empty: stands for {} */
	char error_message[FILES_ERROR_MESSAGE_SIZE]; /* why the request failed */
};

/* ---- main.c ---- */

/* Sets the message from a format. Returns -error, for the request's function to return. */
int job_fail(struct files_job *job, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
int job_fail_with_path(struct files_job *job, int error, const char *path);
/* Sets the request's answer. Takes the reference. 0 or -ENOMEM. */
int job_set_answer(struct files_job *job, json_t *answer);
/* Returns a member of the request that is a text, borrowed; or NULL. */
const char *job_get_request_text(const struct files_job *job, const char *name);
/* Writes a message to stderr, as a line of JSON. Takes the reference. */
void files_write_message(json_t *message);
/* Reads content that follows the request on stdin. The number of bytes; 0: stdin has ended; or -errno. */
ssize_t files_read_input(char *bytes, size_t size);

/* ---- entry.c ---- */

bool entry_is_directory(const char *path); /* also true for a symbolic link to one */
/* Makes a JSON text of bytes. Each part that is not UTF-8 is replaced by U+FFFD. A new reference. */
json_t *files_make_json_text(const char *text);
const char *entry_get_name(const char *path);
/* Describes a file in the form EntryInfo of the E2B protocol. A new reference; NULL with errno. */
json_t *entry_describe(const char *path);
/*
 * Reads a file's metadata: the extended attributes whose names begin with FILES_METADATA_PREFIX. Returns a JSON object
 * of their values, whose keys are the names without that prefix; a new reference.
 */
json_t *entry_read_metadata(const char *path);
/* Answers a request with the description of a file. 0 or -errno. */
int job_answer_with_entry(struct files_job *job, const char *path);

/* ---- one function for each request, listed in main.c: 0 or -errno ---- */

int files_stat(struct files_job *job);
int files_list(struct files_job *job);
int files_mkdir(struct files_job *job);
int files_move(struct files_job *job);
int files_remove(struct files_job *job);
int files_read(struct files_job *job);
int files_write(struct files_job *job);
int files_watch(struct files_job *job);
int files_measure_usage(struct files_job *job);
int files_connect(struct files_job *job);

/* ---- functions of change.c and list.c for other files ---- */

/* Makes the directory that a path is in, with its parents. 0 or -errno. */
int change_make_parent_dirs(const char *path);
/* Joins a directory and a name to a path. Owned by the caller; NULL: out of memory. */
char *files_join_path(const char *directory, const char *name);

#endif
