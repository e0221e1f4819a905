/* Between mode-tls.c and tls-answer.c only: mode_tls itself is in conn.h. */
#ifndef CALLGATE_EGRESS_TLS_MODE_H
#define CALLGATE_EGRESS_TLS_MODE_H

#include <stdbool.h>
#include <stddef.h>

#include "egress/conn/conn.h"

#define TLS_OFFER_SIZE 16 /* "h2,http/1.1" at most */

/* Whether a list of names with commas has this one. */
bool tls_offers(const char *list, const char *name, size_t name_len);

/* The handshake with the program. False: it waits, or the connection is closed. */
bool tls_begin_client(struct conn *conn, const char *alpn);
bool tls_shake_client(struct conn *conn);

/*
 * Instead of the server: the program's handshake, then one answer to whatever it asks, then the end. list: what it offered;
 * text: what was wrong.
 */
void tls_answer(struct conn *conn, const char *list, const char *text);
void tls_answer_pump(struct conn *conn);
void tls_answer_done(struct conn *conn);

#endif
