/* What the two ends of a relayed connection say and hear in tests, and one server with one rule for it. */
#ifndef CALLGATE_TESTS_EGRESS_WIRE_H
#define CALLGATE_TESTS_EGRESS_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/unit/egress/egress-rig.h"

void wire_say(int fd, const char *text);
/* Whether something can be read within so many milliseconds. */
bool wire_is_readable(int fd, int ms);
/* Reads until the end: how many bytes, or -errno when it was no orderly one. What came: wire_heard. */
int wire_hear(int fd);
/* Exactly this comes next. */
void wire_hear_exactly(int fd, const char *text);
void wire_hear_bytes(int fd, const void *bytes, size_t want);
extern char wire_heard[65536];
/* Closes by a reset. */
void wire_reset(int fd);
/* Writes until the other side takes no more: how much that was. fd does not block afterwards. */
size_t wire_fill(int fd);
/* Reads that much. */
void wire_drain(int fd, size_t want);

/* A rule for a.test at port, `proto` and `more` ("", ", \"max_bytes_up\": 10") in it. */
struct egress_rig *wire_begin(uint16_t port, const char *proto, const char *more, const struct erig_options *options);

#endif
