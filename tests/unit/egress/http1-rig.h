/* A whole egress process with one rule for one HTTP server. The test is program, supervisor and server. */
#ifndef CALLGATE_TESTS_HTTP1_RIG_H
#define CALLGATE_TESTS_HTTP1_RIG_H

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/egress/egress-wire.h"
#include "tests/unit/unit.h"

#define HTTP1_RULES ", \"http\": [\"GET /ok/**\", \"POST /ok/**\", \"WEBSOCKET /chat\"]"

/* The egress process, and what is connected. */
struct http1_rig {
	struct egress_rig *egress;
	int server, program, upstream;
	uint16_t port;
};
extern struct http1_rig rig;

/* One rule for one server, with `more` in it; connected at both ends. */
void http1_begin(const char *more);

void http1_end(void);

/* Text in which "@" stands for the server's name as the program has to write it. */
const char *http1_fill_in(const char *text);

void http1_say(int fd, const char *text);

/* Exactly this comes next. */
void http1_hear(int fd, const char *text);

void http1_hear_bytes(int fd, char *bytes, size_t count);

/* Everything up to the end, which is an orderly one (0) or -errno. */
int http1_hear_all(int fd);

void http1_silent(int fd);

struct control_record http1_request(size_t index);

struct control_record http1_closed(void);

/* A whole exchange that leaves both connections open. */
void http1_exchange(void);

/* The same after a request with a body, which was the last of its upstream connection. */
void http1_exchange_anew(void);

void http1_hear_status(unsigned status, const char *reason);

#endif
