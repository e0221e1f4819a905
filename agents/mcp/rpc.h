/*
 * JSON-RPC 2.0 on two descriptors, one message a line: the stdio transport of the Model Context Protocol. The peer is
 * the client that started this process. The length of a line is limited. While the peer does not read its messages, no
 * further lines are read from it.
 */
#ifndef CALLGATE_AGENTS_MCP_RPC_H
#define CALLGATE_AGENTS_MCP_RPC_H

#include <jansson.h>
#include <stdbool.h>

#include "agents/loop.h"

#define RPC_LINE_BYTES_MAX (16u << 20)
#define RPC_PENDING_OUTPUT_BYTES_MAX (1u << 20) /* input is not read while more output than this waits */

/* Error codes of JSON-RPC 2.0, section 5.1, and of MCP 2026-07-28 (basic/index, "Error Codes"). */
enum rpc_error {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_UNSUPPORTED_VERSION = -32022,
};

struct rpc;

/* What is called for messages of the JSON-RPC peer. */
struct rpc_handler {
	/* A request. `id` (string or integer) and `params` (object, or NULL) are borrowed. */
	void (*on_request)(void *data, const json_t *id, const char *method, const json_t *params);
	void (*on_notification)(void *data, const char *method, const json_t *params);
	/* A response to rpc_send_request(), or to no request. result, borrowed: NULL: an error. */
	void (*on_response)(void *data, const char *id, const json_t *result);
	/* The peer has closed its end, or does not read any more. Called once. */
	void (*on_end)(void *data);
	void *data;
};

/*
 * Makes a connection on borrowed descriptors, which stay blocking. 0 or -errno: -EPERM: a descriptor is a regular file,
 * which epoll(7) does not support.
 */
int rpc_create(struct loop *loop, int input_fd, int output_fd, const struct rpc_handler *handler, struct rpc **ret_rpc);
void rpc_free(struct rpc *rpc);

/*
 * Functions that send messages. They take the references of `result`, `data` and `params`. `id` NULL: the id of the
 * request is not known.
 */
void rpc_send_result(struct rpc *rpc, const json_t *id, json_t *result);
void rpc_send_error(struct rpc *rpc, const json_t *id, enum rpc_error code, const char *message, json_t *data);
void rpc_send_notification(struct rpc *rpc, const char *method, json_t *params);
/* Sends a request of this side; on_response gets the answer to this id, if one comes. */
void rpc_send_request(struct rpc *rpc, const char *id, const char *method, json_t *params);

/* True when much output waits for the peer to read it. Notifications that may be left out should be left out then. */
bool rpc_is_congested(const struct rpc *rpc);
/* True when all output was written. */
bool rpc_is_flushed(const struct rpc *rpc);

#endif
