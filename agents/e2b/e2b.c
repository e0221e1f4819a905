/* The E2B server: starts and ends it, and passes each request on to the part of the protocol that handles it. */
#include "agents/e2b/e2b.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/e2b/private.h"
#include "agents/e2b/spares.h"
#include "base/cleanup.h"
#include "base/text.h"

#define E2B_OTHER_OPEN_FILES_MAX 32u /* of the loop, libmicrohttpd, templates and runners that are read, and the like */

/* ---- a request's sandbox and port ---- */

/* Parses a host name such as "49983-ID.DOMAIN" into a port and a sandbox's id. False: it has another form. */
static bool e2b_parse_host(const char *host, char id[HTTP_PATH_WILDCARD_SIZE], uint64_t *ret_port)
{
	char port[8];
	size_t digits = host ? strspn(host, "0123456789") : 0, len;

	if (digits == 0 || digits >= sizeof(port) || host[digits] != '-')
		return false;
	memcpy(port, host, digits);
	port[digits] = '\0';
	host += digits + 1;
	len = strcspn(host, ".:");
	if (len == 0 || len >= HTTP_PATH_WILDCARD_SIZE || text_parse_number(port, 1, UINT16_MAX, ret_port) < 0)
		return false;
	memcpy(id, host, len);
	id[len] = '\0';
	return true;
}

/* Finds the sandbox's id and the port that a request names. False: it names no sandbox. *ret_port 0: malformed. */
static bool e2b_get_target_id_and_port(struct http_request *request, char id[HTTP_PATH_WILDCARD_SIZE],
				       uint64_t *ret_port)
{
	const char *header = http_get_header(request, "E2b-Sandbox-Id");
	const char *port = http_get_header(request, "E2b-Sandbox-Port");

	if (!header)
		return e2b_parse_host(http_get_header(request, "Host"), id, ret_port);
	*ret_port = E2B_ENVD_PORT;
	if (port && text_parse_number(port, 1, UINT16_MAX, ret_port) < 0)
		*ret_port = 0;
	(void)snprintf(id, HTTP_PATH_WILDCARD_SIZE, "%.*s", HTTP_PATH_WILDCARD_SIZE - 1, header);
	return true;
}

/* ---- requests for envd ---- */

/* Whether the request has the sandbox's token, or the sandbox needs none. */
static bool e2b_has_valid_token(const struct e2b_sandbox *box, struct http_request *request)
{
	const char *token = http_get_header(request, "X-Access-Token");

	return !box->envd_token[0] || (token && keys_equal_in_constant_time(token, box->envd_token));
}

/* Answers with the variables that programs get: the template's, and the client's. */
static void envd_answer_environment(const struct e2b_sandbox *box, struct http_request *request)
{
	json_t *env = json_object();

	(void)json_object_update(env, box->template->env);
	(void)json_object_update(env, box->env);
	http_answer_json(request, 200, env);
}

/* envd's "/init": variables for all programs that the client starts later. */
static void envd_on_init_body(void *data, struct http_request *request, const char *bytes, size_t len)
{
	struct e2b_call *call = data;
	struct e2b_sandbox *box = call->box;
	_cleanup_json_ json_t *body = NULL;
	const json_t *vars, *value;
	const char *name;

	e2b_call_finish(call);
	body = e2b_parse_body(request, bytes, len);
	if (!body)
		return;
	vars = json_object_get(body, "envVars");
	json_object_foreach((json_t *)(uintptr_t)vars, name, value)
	{
		if (json_is_string(value) && *name && !strchr(name, '=') &&
		    json_object_size(box->env) < E2B_NAME_VALUE_PAIRS_MAX)
			(void)json_object_set(box->env, name, (json_t *)(uintptr_t)value);
	}
	http_answer(request, 204, NULL, "", 0);
}

/* Serves a request to a sandbox's envd, if it has the sandbox's token. */
static void envd_handle_request(struct e2b_sandbox *box, struct http_request *request)
{
	const char *method = http_get_method(request), *path = http_get_path(request);
	bool is_get = strcmp(method, "GET") == 0, is_post = strcmp(method, "POST") == 0;

	if (is_get && strcmp(path, "/health") == 0) {
		http_answer(request, 204, NULL, "", 0);
	} else if ((is_get || is_post) && strcmp(path, "/files") == 0) {
		files_handle_request(box, request); /* checks token or signature by itself */
	} else if (!e2b_has_valid_token(box, request)) {
		box->e2b->denied_request_count++;
		if (strncmp(path, "/process.", 9) == 0 || strncmp(path, "/filesystem.", 12) == 0)
			connect_answer_error(request, CONNECT_UNAUTHENTICATED,
					     "unauthenticated: X-Access-Token is not the sandbox's");
		else
			e2b_answer_error(request, 401, "unauthenticated: X-Access-Token is not the sandbox's");
	} else if (is_get && strcmp(path, "/envs") == 0) {
		envd_answer_environment(box, request);
	} else if (is_post && strcmp(path, "/init") == 0) {
		e2b_call_read_body(box, request, envd_on_init_body);
	} else if (strncmp(path, "/process.", 9) == 0 || strncmp(path, "/filesystem.", 12) == 0) {
		rpc_handle_request(box, request);
	} else {
		e2b_answer_error(request, 404, "this server has no %s %.200s", method, path);
	}
}

/* ---- */

/*
 * Handles a request for the code interpreter, or for a server in the sandbox. Refuses a client without the sandbox's
 * token.
 */
static void e2b_check_and_handle_traffic(struct e2b_sandbox *box, struct http_request *request, uint64_t port)
{
	const char *traffic = http_get_header(request, "E2B-Traffic-Access-Token");
	const bool is_allowed = e2b_has_valid_token(box, request) ||
				(traffic && keys_equal_in_constant_time(traffic, box->traffic_token));

	if (is_allowed && port == E2B_INTERPRETER_PORT) {
		interpreter_handle_request(box, request);
		return;
	}
	if (is_allowed) {
		port_handle_request(box, request, port);
		return;
	}
	box->e2b->denied_request_count++;
	e2b_answer_error(request, 401,
			 "unauthenticated: neither X-Access-Token nor E2B-Traffic-Access-Token is the sandbox's");
}

static void e2b_on_request(void *data, struct http_request *request)
{
	struct e2b *e2b = data;
	char id[HTTP_PATH_WILDCARD_SIZE];
	struct e2b_sandbox *box;
	uint64_t port;

	e2b->request_count++;
	if (!e2b_get_target_id_and_port(request, id, &port)) {
		if (strcmp(http_get_path(request), "/files") == 0)
			files_handle_signed_request(e2b, request);
		else
			management_handle_request(e2b, request);
		return;
	}
	box = e2b_sandbox_find(e2b, id);
	if (!box) {
		e2b->denied_request_count++;
		http_answer_json(request, 502,
				 json_pack("{s:s, s:s*, s:i}", "message", "The sandbox was not found", "sandboxId", id,
					   "code", 502));
	} else if (pause_refuses_request(box, request)) {
		return;
	} else if (port == E2B_ENVD_PORT) {
		envd_handle_request(box, request);
	} else {
		e2b_check_and_handle_traffic(box, request, port);
	}
}

static int e2b_copy_options(struct e2b *e2b, const struct e2b_options *options)
{
	struct e2b_options *copy = &e2b->options;

	copy->callgate_path = strdup(options->callgate_path);
	copy->builtin_templates_dir = strdup(options->builtin_templates_dir);
	copy->user_templates_dir = options->user_templates_dir ? strdup(options->user_templates_dir) : NULL;
	copy->audit_log_dir = options->audit_log_dir ? strdup(options->audit_log_dir) : NULL;
	copy->approval = json_incref(options->approval);
	return copy->callgate_path && copy->builtin_templates_dir &&
			       (copy->user_templates_dir || !options->user_templates_dir) &&
			       (copy->audit_log_dir || !options->audit_log_dir)
		       ? 0
		       : -ENOMEM;
}

/* Takes over the options, the limit of sandboxes and the keys. 0, or -errno with *ret_why if the user can mend it. */
static int e2b_load_options(struct e2b *e2b, const struct e2b_options *options, char **ret_why)
{
	const json_t *sandboxes = json_object_get(options->limits, "sandboxes");
	int error = e2b_copy_options(e2b, options);
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	e2b->cpu_count = count > 0 ? (int)count : 1;
	e2b->sandboxes_max = E2B_SANDBOXES_MAX_DEFAULT;
	if (error == 0 && sandboxes &&
	    (!json_is_integer(sandboxes) || json_integer_value(sandboxes) < 1 ||
	     json_integer_value(sandboxes) > E2B_SANDBOXES_MAX)) {
		*ret_why = strdup("\"sandboxes\" must be a number from 1 to 10000");
		return -EINVAL;
	}
	if (sandboxes)
		e2b->sandboxes_max = (unsigned)json_integer_value(sandboxes);
	return error == 0 ? keys_load_all(e2b, json_object_get(options->limits, "keys"), ret_why) : error;
}

/*
 * Divides the limit of open files: a third for connections, so that a client can always be refused what takes more; the
 * rest is for sandboxes. Returns how many connections there may be.
 */
static unsigned e2b_divide_open_files(void)
{
	const uint64_t third = sandbox_get_open_files_limit() / 3;
	const unsigned connections = third < HTTP_CONNECTIONS_MAX ? (unsigned)third : HTTP_CONNECTIONS_MAX;

	sandbox_reserve_open_files(connections + E2B_OTHER_OPEN_FILES_MAX);
	return connections;
}

int e2b_create(struct loop *loop, const struct e2b_options *options, struct e2b **ret_e2b, char **ret_why)
{
	struct e2b *e2b = calloc(1, sizeof(*e2b));
	const struct http_server_options http = {.listen_fd = options->listen_fd,
						 .connections_max = e2b_divide_open_files(),
						 .on_request = e2b_on_request,
						 .data = e2b};
	int error = -ENOMEM;

	*ret_why = NULL;
	if (e2b) {
		e2b->loop = loop;
		e2b->on_room = admission_serve_queue;
		e2b->pause = pause_begin;
		e2b->on_pause = pause_on_answer;
		error = e2b_load_options(e2b, options, ret_why);
	}
	if (error == 0)
		error = quota_start_cpu_watch(e2b);
	if (error == 0)
		error = http_server_create(loop, &http, &e2b->http_server);
	else
		(void)close(options->listen_fd);
	if (error == 0) {
		templates_load_all(e2b);
		for (struct e2b_template *template = e2b->templates; template; template = template->next)
			spares_refill(e2b, template);
		*ret_e2b = e2b;
	} else {
		e2b_free(e2b);
	}
	return error;
}

void e2b_free(struct e2b *e2b)
{
	if (!e2b)
		return;
	e2b->is_stopping = true;
	admission_abort_all(e2b);
	while (e2b->spares)
		e2b_sandbox_end(e2b->spares, "server_stopped");
	while (e2b->sandboxes)
		e2b_sandbox_end(e2b->sandboxes, "server_stopped");
	http_server_free(e2b->http_server);
	templates_free_all(e2b);
	quota_stop_cpu_watch(e2b);
	keys_free_all(e2b);
	free((char *)(uintptr_t)e2b->options.callgate_path);
	free((char *)(uintptr_t)e2b->options.builtin_templates_dir);
	free((char *)(uintptr_t)e2b->options.user_templates_dir);
	free((char *)(uintptr_t)e2b->options.audit_log_dir);
	json_decref(e2b->options.approval);
	free(e2b);
}
