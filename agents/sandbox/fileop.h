/*
 * File requests, such as to read or list: each is done by a program in the sandbox (callgate-files, agents/files/). So
 * the policy judges its calls, and the audit log records them. A planted symbolic link or a path with ".." reaches only
 * what any program in the sandbox reaches. Answers are hostile: their size is limited.
 */
#ifndef CALLGATE_AGENTS_SANDBOX_FILEOP_H
#define CALLGATE_AGENTS_SANDBOX_FILEOP_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agents/loop.h"
#include "agents/sandbox/sandbox.h"

#define FILEOP_ANSWER_BYTES_MAX (32u << 20) /* enough for a long listing */

struct fileop;

/* Callbacks of a file request. */
struct fileop_handler {
	void (*on_data)(void *data, const char *bytes, size_t len); /* content of a file that is read; borrowed */
	void (*on_room)(void *data);                                /* fileop_write() takes bytes again */
	/* a change that a watch reports; {}: the watch has begun; borrowed */
	void (*on_event)(void *data, const json_t *event);
	/*
	 * Called once, at the end: error 0 and `answer`, which is borrowed, or an errno and a message. The request is
	 * freed afterwards.
	 */
	void (*on_answer)(void *data, int error, const char *message, const json_t *answer);
	void *data;
};

/* Starts a file request. Takes the reference of `request`, which agents/files/ describes. 0 or -errno. */
int fileop_start(struct sandbox *sandbox, json_t *request, const struct fileop_handler *handler,
		 struct fileop **ret_fileop);
/*
 * Sends content of a file that is to be written. Returns how many bytes were taken, or -EPIPE. If fewer than len were
 * taken, on_room is called later.
 */
ssize_t fileop_write(struct fileop *fileop, const char *bytes, size_t len);
void fileop_end_content(struct fileop *fileop); /* no more content follows */
void fileop_pause_output(struct fileop *fileop, bool is_paused);
/* Ends the request's program, and frees the request. No callback is called afterwards. NULL is fine. */
void fileop_cancel(struct fileop *fileop);

#endif
