/* One HTTP request, of whatever version, before it goes anywhere: judged, budgeted, recorded, given its secrets. */
#ifndef CALLGATE_EGRESS_HTTP_REQUEST_H
#define CALLGATE_EGRESS_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/conn.h"
#include "policy/network/net.h"

struct buf;

struct request {
	char method[NET_METHOD_MAX];
	char authority[NET_HOST_MAX + 6]; /* as the client wrote it: Host or :authority */
	char scheme[8];                   /* HTTP/2 only; "" otherwise */
	char path[NET_PATH_MAX];          /* normalised; what is forwarded, with the query after it */
	bool query;
	bool upgrade;                     /* to a websocket */
	bool body;                        /* content follows the head, or may */
};

struct request_verdict {
	bool allow;
	unsigned status;     /* of the refusal: 403, 421 (another host), 429 (budget), 400, 431 (malformed); 502, 503, 504 */
	const struct net_rule *rule; /* whose credential is to be put in; NULL: none */
	const char *label, *reason;
};

/* RFC 9110, 5.6.2: what methods and fields' names are made of. */
#define REQUEST_TOKEN "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/*
 * "host", "host:port", "[address]:port" to a canonical name and a port; false: it is none of them (userinfo, junk, port 0).
 */
bool request_authority(const char *text, size_t len, unsigned default_port, char ret_host[NET_HOST_MAX],
		       unsigned *ret_port);

/*
 * Authority against the connection's name and port (host_mismatch: 421), method (TRACE, CONNECT refused), policy, content
 * that the method does not have (body_not_granted), budget. Takes from the budget when it allows.
 */
void request_judge(struct conn *conn, const struct request *request, struct request_verdict *ret_verdict);

/*
 * Records it; answer as conn_record's. Refused ones are recorded without waiting (answer NULL).
 */
void request_record(struct conn *conn, const struct request *request, const struct request_verdict *verdict,
		    void (*answer)(struct conn *conn, void *ctx, int error), void *ctx, uint64_t *ret_id);

/*
 * The refusal's body: {"error": "refused_by_policy" (or by status), "host", "port", "method", "path", "rule", "reason"}. Owned by the
 * caller (free); NULL: no memory.
 */
char *request_refusal(const struct conn *conn, const struct request *request, const struct request_verdict *verdict);
/* Appends a JSON member with a text value and the comma before it: `, "key": "text"`. text may be NULL. */
void request_put_text(struct buf *out, const char *key, const char *text);

/* A field of a message on its way. Texts borrow. */
struct field {
	const char *name; /* in whatever case it was written; compared without */
	size_t name_len;
	const char *value;
	size_t value_len;
};

/* Whether a text is name, in any case. */
bool http1_is(const char *text, size_t len, const char *name);

/* What may be in a message, both versions of HTTP alike. */
#define HTTP_FIELDS_MAX 100
#define HTTP_HEAD_MAX (32 * 1024)

/* Whether a field is between neighbours only and not forwarded: connection, keep-alive, te, upgrade, alt-svc …; see RFC 9110, 7.6.1. */
bool request_field_dropped(const char *name, size_t len, bool response);

/* Methods whose requests have no content (RFC 9110, 9.3): servers that do not read it take it for the next request. */
bool request_lacks_body(const char *method);

/*
 * Whether a name is `known` (or another spelling of it) to a server that reads names by CGI's rules (RFC 3875, 4.1.18),
 * where all but letters and digits become "_": "X_Original.URL" and "X-Original-URL" are one variable there.
 */
bool request_field_is(const char *name, size_t len, const char *known);

/* Whether a name is read as that of a field about a message's length by those servers only ("Content_Length"). */
bool request_field_disguised(const char *name, size_t len);

/*
 * Whether a request with this field is to be refused (403, override_not_granted): some servers take method, path or host
 * from it instead. The list of those fields is here and nowhere else.
 */
bool request_field_refused(const struct request_verdict *verdict, const char *name, size_t len);

/*
 * Over TLS to its host only, after the allow is on record: the rule's credential header, whose name is *ret_name (NULL:
 * none) and whose value is the caller's to wipe and free. 0, or -EACCES, -ENOENT, -ENOMEM: the request may not go out.
 */
int request_credential(const struct conn *conn, const struct request_verdict *verdict, const char **ret_name,
		       char **ret_value);
/*
 * Replaces placeholders of secrets that may go to this host in a field's value, also inside "Basic" base64. 1 with an
 * owned value (to be wiped and freed); 0: nothing to replace; -ENOMEM.
 */
int request_reveal(const struct conn *conn, const struct field *field, char **ret_value, size_t *ret_len);
/* For what these two have made. NULL is fine. */
void request_wipe(char *text, size_t len);

#endif
