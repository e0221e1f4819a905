/* What the files of http1.h share. */
#ifndef CALLGATE_EGRESS_HTTP_HTTP1_PRIVATE_H
#define CALLGATE_EGRESS_HTTP_HTTP1_PRIVATE_H

#include "egress/http/http1.h"

bool http1_is_token(const char *text, size_t len);
/* The next member of a comma-separated list of words, and moves past it. false: no more. */
bool http1_next_word(const char **list, size_t *len, const char **ret_word, size_t *ret_len);
/* The lines after the first, with the empty one. 0 or an error. */
int http1_fields(const char *data, size_t len, struct http1_head *head);
/* Length, transfer coding, connection, upgrade, host, expectation: what the fields say of the message. 0 or an error. */
int http1_meaning(struct http1_head *head, bool response);

#endif
