/*
 * File requests of a sandbox: each is done by a program in it (agents/files/), so that the policy judges it,
 * the log has it, and a planted symbolic link or a path with ".." reaches what programs reach. What comes back is
 * hostile: only known members get through, with bounds.
 */
#ifndef CALLGATE_AGENTS_SANDBOX_FILEOP_H
#define CALLGATE_AGENTS_SANDBOX_FILEOP_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agents/loop.h"
#include "agents/sandbox/sandbox.h"

#define FILEOP_ANSWER_BYTES_MAX (32u << 20) /* a listing */

struct fileop;

struct fileop_handler {
	void (*on_data)(void *data, const char *bytes, size_t len); /* of a file that is read; borrowed */
	void (*on_room)(void *data);                                /* fileop_write() takes bytes again */
	void (*on_event)(void *data, const json_t *event);          /* of a watch; {}: it has begun; borrowed */
	/* The end, called once: error 0, or errno and a message. `answer` is borrowed. The request is freed then. */
	void (*on_answer)(void *data, int error, const char *message, const json_t *answer);
	void *data;
};

/* Starts a request, which is taken. 0 or -errno. */
int fileop_start(struct sandbox *sandbox, json_t *request, const struct fileop_handler *handler,
		 struct fileop **ret_fileop);
/* Content of a file that is written: how many bytes were taken, or -EPIPE. After 0 or less than len: on_room. */
ssize_t fileop_write(struct fileop *fileop, const char *bytes, size_t len);
void fileop_end_content(struct fileop *fileop); /* there is no more content */
void fileop_pause_output(struct fileop *fileop, bool is_paused);
/* No callback is called afterwards. NULL is fine. */
void fileop_cancel(struct fileop *fileop);

#endif
