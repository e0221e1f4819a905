/*
 * Judges one HTTP request of any version before it is forwarded: verdict, budget, record, secrets. Called in the egress
 * process by the HTTP modes.
 */
#ifndef CALLGATE_EGRESS_HTTP_REQUEST_H
#define CALLGATE_EGRESS_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/conn.h"
#include "policy/network/net.h"

struct buf;

/* An HTTP request, as far as it is judged. */
struct request {
	char method[NET_METHOD_SIZE];
	char authority[NET_HOST_SIZE + 6]; /* Host or :authority, as received */
	char scheme[8];                   /* only in HTTP/2; otherwise "" */
	char path[NET_PATH_SIZE];         /* normalised; the query is appended when it is forwarded */
	bool has_query;                   /* the target has a query, after "?" */
	bool asks_for_websocket;                     /* the request asks for an upgrade to a websocket */
	bool has_body;                        /* the request has content, or may have */
	/* the question about the request, until its record is sent; 0: none; or CONTROL_TOO_MANY_QUESTIONS */
	uint64_t question_id;
	bool was_asked_about; /* by request_ask() */
	bool awaits_answer;
	bool is_permitted_by_answer; /* the approver permits the request, which the policy denies */
};

/* A header field. The texts are borrowed. */
struct http_field {
	const char *name; /* in upper or lower case */
	size_t name_len;
	const char *value;
	size_t value_len;
};

/* The verdict on an HTTP request. */
struct request_verdict {
	bool is_allowed; /* false: refused, with refusal_status */
	/* HTTP status of a refusal: 403; 421 (another host); 429 (budget); 400, 431 (malformed); 502, 503, 504 */
	unsigned refusal_status;
	const struct net_rule *rule; /* the rule that allows the request, with the credential to insert; NULL: none */
	const char *label, *reason;
	bool can_be_asked_about; /* refused, but an answer would permit it: request_ask() */
};

/* The bytes that methods and field names may have (token: RFC 9110, 5.6.2). */
#define REQUEST_TOKEN_BYTES "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Parses "host", "host:port" or "[address]:port" to a canonical host and a port. False: any other text. */
bool request_parse_authority(const char *text, size_t len, unsigned default_port, char ret_host[NET_HOST_SIZE],
			     unsigned *ret_port);

/*
 * Judges a request: its authority (421 host_mismatch), method, policy, content (body_not_granted), fields
 * (override_not_granted) and budget. An allowed request is counted in the budget.
 */
void request_judge(struct conn *conn, const struct request *request, const struct http_field *fields, size_t count,
		   struct request_verdict *ret_verdict);
/* Changes a verdict to a refusal; the label of the rule stays. reason: static. */
void request_set_refusal(struct request_verdict *verdict, unsigned status, const char *reason);

/*
 * Records a request, which closes the question about it. answer: see line_send_record; NULL for a refused one, which
 * does not wait. ret_id: may be NULL.
 */
void request_write_record(struct conn *conn, struct request *request, const struct request_verdict *verdict,
			  void (*answer)(void *ctx, int error), void *ctx, uint64_t *ret_id);

/* ---- question.c: requests that wait for the approver's answer ---- */

/* What a question tells besides struct request. */
struct request_details {
	const char *query; /* with its "?"; borrowed; NULL: none */
	size_t query_len;
	int64_t body_bytes; /* as in struct control_question */
};
/*
 * Asks whether a request may be forwarded that can be asked about. True: `answer` is called once from the loop, with 0
 * if it may, unless line_forget_ack_callbacks() is called with that ctx before; it must call request_take_answer().
 * Until then the connection has no time limit and is not evicted. False: it is not asked about, and to be refused.
 */
bool request_ask(struct conn *conn, struct request *request, const struct request_details *details,
		 void (*answer)(void *ctx, int error), void *ctx);
/* Notes the answer; then the request is to be judged again. */
void request_take_answer(struct conn *conn, struct request *request, int error);
/* The client does not want the request any more: records that, if there was a question about it. */
void request_withdraw(struct conn *conn, struct request *request);

/*
 * The JSON body of a refusal: {"error": "refused_by_policy" (or another text for the status), "host", "port", "method",
 * "path", "rule", "reason"}. Owned; NULL: no memory.
 */
char *request_make_refusal_body(const struct conn *conn, const struct request *request,
			   const struct request_verdict *verdict);
/* Appends a JSON member with a text value and the comma before it: `, "key": "text"`. text may be NULL. */
void request_put_json_text(struct buf *out, const char *key, const char *text);

/* Whether a text equals `name`, in upper or lower case. */
bool http1_name_equals(const char *text, size_t len, const char *name);

/* Limits for the head of a message in every version of HTTP. */
#define HTTP_FIELDS_MAX 100
#define HTTP_HEAD_BYTES_MAX (32 * 1024)

/*
 * Whether a field is never forwarded, because it is hop-by-hop (RFC 9110, 7.6.1) or for other reasons: Connection,
 * Keep-Alive, TE, Upgrade, Alt-Svc …
 */
bool request_field_is_never_forwarded(const char *name, size_t len);

/* True if requests of this method have no content (RFC 9110, 9.3): a server may take it for the next request. */
bool request_method_has_no_body(const char *method);

/*
 * Whether a server that maps field names to CGI variables (RFC 3875, 4.1.18) reads name as `known`: every byte but
 * letters and digits becomes "_", so "X_Original.URL" equals "X-Original-URL".
 */
bool request_field_equals_as_cgi_variable(const char *name, size_t len, const char *known);

/*
 * Whether a server that maps field names to CGI variables reads `name` as a framing field, and other servers do not, as
 * with "Content_Length".
 */
bool request_field_disguises_framing(const char *name, size_t len);

/*
 * Whether a request must be refused for one of its fields although the rule allows it (403 override_not_granted): some
 * servers take method, path or host from that field. Method and path count if the rules tell requests apart. This is
 * the only list of those fields.
 */
bool request_has_override_field(const struct http_field *fields, size_t count, bool requests_are_told_apart);

/*
 * Makes the rule's credential header. It is sent inside TLS only, to its host only, after the request is recorded.
 * *ret_name: name of the header, NULL: none; *ret_value: owned, to be wiped. 0; -EACCES, -ENOENT, -ENOMEM: the request
 * must not be sent.
 */
int request_make_credential(const struct conn *conn, const struct request_verdict *verdict, const char **ret_name,
			    char **ret_value);
/*
 * Replaces placeholders in a field's value, also inside Basic credentials, by the secrets that may be sent to this
 * host. 1 with an owned value, to be wiped; 0: nothing to replace; -ENOMEM.
 */
int request_replace_placeholders(const struct conn *conn, const struct http_field *field, char **ret_value,
			      size_t *ret_len);
/* Wipes and frees a value of request_make_credential or request_replace_placeholders. May be NULL. */
void request_wipe_text(char *text, size_t len);

#endif
