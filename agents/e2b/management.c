/*
 * The management API: creates, lists, describes and ends sandboxes. Requests for what this server does not have are
 * answered with the reason.
 */
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/management.h"
#include "base/cleanup.h"

#define METRICS_PAST_INTERVAL_SLACK_S 5    /* an interval that ended this long ago still gets the present usage */

/* Which function handles a method and a path. */
struct management_route {
	const char *method, *path;
	void (*handle)(const struct management_call *call); /* for a request without a body, or with an unused one */
	void (*handle_with_body)(const struct management_call *call, const json_t *body);
};

/* ---- requests about one sandbox ---- */

/* Finds the sandbox that the path names. NULL: there is none that belongs to the client's key; answered with 404. */
static struct e2b_sandbox *management_find_sandbox(const struct management_call *call)
{
	struct e2b_sandbox *box = e2b_sandbox_find(call->e2b, call->path_parts[0]);

	if (box && box->key == call->key)
		return box;
	e2b_answer_error(call->request, 404, "sandbox \"%.64s\" doesn't exist or you don't have access to it",
			 call->path_parts[0]);
	return NULL;
}

static void management_describe_sandbox(const struct management_call *call)
{
	const struct e2b_sandbox *box = management_find_sandbox(call);

	if (box)
		http_answer_json(call->request, 200, e2b_sandbox_describe_details(box));
}

static void management_kill_sandbox(const struct management_call *call)
{
	struct e2b_sandbox *box = management_find_sandbox(call);

	if (!box)
		return;
	e2b_sandbox_end(box, "killed");
	http_answer(call->request, 204, NULL, "", 0);
}

/* Finds the sandbox that the path names. NULL: there is none, or it is paused, and an error was answered. */
static struct e2b_sandbox *management_find_running_sandbox(const struct management_call *call)
{
	struct e2b_sandbox *box = management_find_sandbox(call);

	if (!box || box->pause_state == PAUSE_NONE)
		return box;
	e2b_answer_error(call->request, 409, "the sandbox is paused: connect to it");
	return NULL;
}

/* Parses a time to live in seconds, of the body's member `name`. False: malformed, and an error was answered. */
static bool management_parse_timeout(const struct management_call *call, const json_t *body, const char *name,
				     int64_t default_s, int64_t *ret_ms)
{
	const json_t *value = json_object_get(body, name);
	int64_t seconds = value ? json_integer_value(value) : default_s;

	if ((value && !json_is_integer(value)) || seconds < 0 || seconds > E2B_SANDBOX_TIMEOUT_MAX_S) {
		e2b_answer_error(call->request, 400, "%s must be a whole number of seconds, at most %u", name,
				 E2B_SANDBOX_TIMEOUT_MAX_S);
		return false;
	}
	*ret_ms = seconds * 1000;
	return true;
}

static void management_set_timeout(const struct management_call *call, const json_t *body)
{
	struct e2b_sandbox *box = management_find_running_sandbox(call);
	int64_t timeout_ms;

	if (!box || !management_parse_timeout(call, body, "timeout", E2B_SANDBOX_TIMEOUT_DEFAULT_S, &timeout_ms))
		return;
	e2b_sandbox_set_end_time(box, e2b_get_real_time_ms() + timeout_ms);
	http_answer(call->request, 204, NULL, "", 0);
}

static void management_extend_timeout(const struct management_call *call, const json_t *body)
{
	struct e2b_sandbox *box = management_find_running_sandbox(call);
	int64_t timeout_ms;

	if (!box || !management_parse_timeout(call, body, "duration", E2B_SANDBOX_TIMEOUT_DEFAULT_S, &timeout_ms))
		return;
	if (e2b_get_real_time_ms() + timeout_ms > box->end_time_ms)
		e2b_sandbox_set_end_time(box, e2b_get_real_time_ms() + timeout_ms);
	http_answer(call->request, 204, NULL, "", 0);
}

/* Connecting resumes a paused sandbox. The life of a running sandbox it makes longer, never shorter. */
static void management_connect_to_sandbox(const struct management_call *call, const json_t *body)
{
	struct e2b_sandbox *box = management_find_sandbox(call);
	int64_t timeout_ms;

	if (!box || !management_parse_timeout(call, body, "timeout", E2B_SANDBOX_TIMEOUT_DEFAULT_S, &timeout_ms))
		return;
	if (box->pause_state != PAUSE_NONE) {
		pause_end(box, call->request, timeout_ms);
		return;
	}
	if (e2b_get_real_time_ms() + timeout_ms > box->end_time_ms)
		e2b_sandbox_set_end_time(box, e2b_get_real_time_ms() + timeout_ms);
	http_answer_json(call->request, 200, e2b_sandbox_describe(box));
}

static void management_resume_sandbox(const struct management_call *call, const json_t *body)
{
	struct e2b_sandbox *box = management_find_sandbox(call);
	const json_t *auto_pause = json_object_get(body, "autoPause");
	int64_t timeout_ms;

	if (!box || !management_parse_timeout(call, body, "timeout", E2B_SANDBOX_TIMEOUT_DEFAULT_S, &timeout_ms))
		return;
	if (box->pause_state == PAUSE_LASTS && json_is_boolean(auto_pause))
		box->pauses_at_timeout = json_is_true(auto_pause);
	pause_end(box, call->request, timeout_ms);
}

static void management_pause_sandbox(const struct management_call *call, const json_t *body)
{
	struct e2b_sandbox *box = management_find_sandbox(call);

	if (box && json_is_false(json_object_get(body, "memory")))
		e2b_answer_error(call->request, 501,
				 "a sandbox cannot be paused without its memory: its programs are stopped, and go on "
				 "later");
	else if (box)
		pause_begin(box, call->request);
}

/*
 * Answers with what the sandbox uses now. The list is empty if the interval that the client asks for does not include
 * the present, because this server keeps no history.
 */
static void management_answer_usage(const struct management_call *call)
{
	struct e2b_sandbox *box = management_find_sandbox(call);
	const char *start = http_get_query_parameter(call->request, "start"),
		   *end = http_get_query_parameter(call->request, "end");
	int64_t now_ms = e2b_get_real_time_ms();

	if (!box)
		return;
	if (box->pause_state != PAUSE_NONE || (start && strtoll(start, NULL, 10) > now_ms / 1000 + 1) ||
	    (end && strtoll(end, NULL, 10) < now_ms / 1000 - METRICS_PAST_INTERVAL_SLACK_S))
		http_answer_json(call->request, 200, json_array());
	else
		usage_handle_request(box, call->request);
}

/* ---- create ---- */

/* Checks number and length of the name-value pairs in the body's member `name`. False: an error was answered. */
static bool management_check_text_pairs(const struct management_call *call, const json_t *body, const char *name)
{
	const json_t *texts = json_object_get(body, name), *value;
	bool is_good = !texts || json_is_null(texts) ||
		       (json_is_object(texts) && json_object_size(texts) <= E2B_NAME_VALUE_PAIRS_MAX);
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)texts, key, value)
	{
		if (!json_is_string(value) || strlen(key) + json_string_length(value) > E2B_NAME_VALUE_PAIR_BYTES_MAX ||
		    (strcmp(name, "envVars") == 0 && (!*key || strchr(key, '='))))
			is_good = false;
	}
	if (!is_good)
		e2b_answer_error(call->request, 400, "%s must be an object of at most %u texts of at most %u bytes",
				 name, E2B_NAME_VALUE_PAIRS_MAX, E2B_NAME_VALUE_PAIR_BYTES_MAX);
	return is_good;
}

/* Says why a create request cannot be served, if it asks for what this server does not support. NULL: it can. */
static const char *management_explain_unsupported(const json_t *body)
{
	const json_t *network = json_object_get(body, "network");
	const json_t *resume = json_object_get(json_object_get(body, "autoResume"), "enabled");

	if (json_array_size(json_object_get(body, "volumeMounts")) > 0)
		return "volumes are not supported: use the files/ of a template";
	if (json_object_size(json_object_get(json_object_get(body, "iam"), "tokens")) > 0)
		return "workload tokens (iam) are not supported: use the secrets of the template's policy";
	if (json_is_true(resume))
		return "a paused sandbox goes on when a client connects to it: lifecycle.autoResume must be false";
	if (json_is_true(json_object_get(body, "autoPause")) && json_is_false(json_object_get(body, "autoPauseMemory")))
		return "a sandbox cannot be paused without its memory: lifecycle.onTimeout.keepMemory must be true";
	if (json_object_get(network, "allowOut") || json_object_get(network, "denyOut") ||
	    json_object_size(json_object_get(network, "rules")) > 0 ||
	    json_is_object(json_object_get(network, "egressProxy")) || json_object_get(network, "maskRequestHost"))
		return "the network is what the template's policy allows: network.allowOut, denyOut, rules, "
		       "egressProxy "
		       "and maskRequestHost are not supported";
	return NULL;
}

/* Finds the template that a create request names. NULL: there is none, and an error was answered. */
static struct e2b_template *management_find_template(const struct management_call *call, const json_t *body)
{
	const char *name = json_string_value(json_object_get(body, "templateID"));
	_cleanup_free_ char *why = NULL;
	struct e2b_template *template = name ? template_find(call->e2b, name, &why) : NULL;

	if (!name)
		e2b_answer_error(call->request, 400, "templateID is missing");
	else if (why)
		e2b_answer_error(call->request, 500, "%s", why);
	else if (!template)
		e2b_answer_error(call->request, 404, "template \"%.64s\" not found", name);
	return template;
}

static void management_create_sandbox(const struct management_call *call, const json_t *body)
{
	const char *unsupported = management_explain_unsupported(body);
	const json_t *secure = json_object_get(body, "secure");
	struct e2b_create_options create_options = {.metadata = json_object_get(body, "metadata"),
						    .env = json_object_get(body, "envVars"),
						    .allow_internet_access =
							    json_object_get(body, "allow_internet_access"),
						    .pauses_at_timeout =
							    json_is_true(json_object_get(body, "autoPause")),
						    .requires_token = !json_is_false(secure)};
	struct e2b_template *template;

	if (unsupported) {
		e2b_answer_error(call->request, 400, "%s", unsupported);
		return;
	}
	if (!management_parse_timeout(call, body, "timeout", E2B_SANDBOX_TIMEOUT_DEFAULT_S,
				      &create_options.timeout_ms) ||
	    !management_check_text_pairs(call, body, "metadata") || !management_check_text_pairs(call, body, "envVars"))
		return;
	create_options.metadata = json_is_object(create_options.metadata) ? create_options.metadata : NULL;
	create_options.env = json_is_object(create_options.env) ? create_options.env : NULL;
	create_options.allow_internet_access =
		json_is_boolean(create_options.allow_internet_access) ? create_options.allow_internet_access : NULL;
	template = management_find_template(call, body);
	if (template)
		admission_queue_request(call->e2b, call->key, template, call->request, &create_options);
}

/* ---- what this server does not support ---- */

/* E2B's requests to fork or save a sandbox are not supported. */
static void management_refuse_copy(const struct management_call *call)
{
	if (management_find_sandbox(call))
		e2b_answer_error(call->request, 501,
				 "sandboxes cannot be forked or saved: their memory is that of processes of this "
				 "machine");
}

/* E2B's requests to change a sandbox's network are not supported. */
static void management_refuse_network(const struct management_call *call)
{
	if (management_find_sandbox(call))
		e2b_answer_error(call->request, 501,
				 "the network of a sandbox is what the policy of its template allows, and does not "
				 "change while it runs");
}

/* E2B's requests for a sandbox's logs are not supported. */
static void management_refuse_logs(const struct management_call *call)
{
	if (management_find_sandbox(call))
		e2b_answer_error(call->request, 501, "logs are files of the server: see --audit-dir of callgate serve");
}

/* E2B's requests to build templates are not supported. */
static void management_refuse_templates(const struct management_call *call)
{
	e2b_answer_error(call->request, 501,
			 "templates are directories of the server, and are not built by it: see --templates of "
			 "callgate serve");
}

/* E2B's requests about volumes and secrets are not supported. */
static void management_refuse_volumes(const struct management_call *call)
{
	e2b_answer_error(call->request, 501, "volumes and secrets are not kept by this server");
}

static void management_answer_empty_list(const struct management_call *call)
{
	http_answer_json(call->request, 200, json_array());
}

static void management_answer_health(const struct management_call *call)
{
	http_answer_json(call->request, 200, json_pack("{s:s}", "status", "healthy"));
}

static void management_answer_metrics(const struct management_call *call)
{
	metrics_answer(call->e2b, call->key, call->request);
}

/* Answers whether there is a template of the name that the path has. */
static void management_answer_template_alias(const struct management_call *call)
{
	_cleanup_free_ char *why = NULL;
	const struct e2b_template *template = template_find(call->e2b, call->path_parts[0], &why);

	if (template)
		http_answer_json(call->request, 200,
				 json_pack("{s:s, s:b}", "templateID", template->name, "public", 0));
	else
		e2b_answer_error(call->request, 404, "template \"%.64s\" not found", call->path_parts[0]);
}

static const struct management_route routes[] = {
	{"GET", "/health", management_answer_health, NULL},
	{"GET", "/metrics", management_answer_metrics, NULL},
	{"GET", "/sandboxes", management_list_sandboxes, NULL},
	{"GET", "/v2/sandboxes", management_list_sandboxes, NULL},
	{"POST", "/sandboxes", NULL, management_create_sandbox},
	{"POST", "/v2/sandboxes", NULL, management_create_sandbox},
	{"GET", "/sandboxes/{}", management_describe_sandbox, NULL},
	{"DELETE", "/sandboxes/{}", management_kill_sandbox, NULL},
	{"POST", "/sandboxes/{}/timeout", NULL, management_set_timeout},
	{"POST", "/sandboxes/{}/refreshes", NULL, management_extend_timeout},
	{"POST", "/sandboxes/{}/connect", NULL, management_connect_to_sandbox},
	{"POST", "/v2/sandboxes/{}/connect", NULL, management_connect_to_sandbox},
	{"POST", "/sandboxes/{}/pause", NULL, management_pause_sandbox},
	{"POST", "/sandboxes/{}/resume", NULL, management_resume_sandbox},
	{"POST", "/sandboxes/{}/fork", management_refuse_copy, NULL},
	{"POST", "/sandboxes/{}/snapshots", management_refuse_copy, NULL},
	{"GET", "/sandboxes/{}/metrics", management_answer_usage, NULL},
	{"PUT", "/sandboxes/{}/network", management_refuse_network, NULL},
	{"GET", "/sandboxes/{}/logs", management_refuse_logs, NULL},
	{"GET", "/v2/sandboxes/{}/logs", management_refuse_logs, NULL},
	{"GET", "/snapshots", management_answer_empty_list, NULL},
	{"GET", "/templates/aliases/{}", management_answer_template_alias, NULL},
	{"POST", "/templates", management_refuse_templates, NULL},
	{"POST", "/v2/templates", management_refuse_templates, NULL},
	{"POST", "/v3/templates", management_refuse_templates, NULL},
	{"POST", "/templates/{}", management_refuse_templates, NULL},
	{"PATCH", "/templates/{}", management_refuse_templates, NULL},
	{"GET", "/volumes", management_answer_empty_list, NULL},
	{"POST", "/volumes", management_refuse_volumes, NULL},
	{"GET", "/secrets", management_answer_empty_list, NULL},
	{"POST", "/secrets", management_refuse_volumes, NULL},
};

/* ---- */

/* Finds the API key of a request: in X-API-Key, as the SDKs send it, or as a bearer token, as Prometheus does. */
static struct e2b_key *management_find_key(struct e2b *e2b, struct http_request *request)
{
	const char *text = http_get_header(request, "X-API-Key");
	const char *bearer = http_get_header(request, "Authorization");

	if (!text && bearer && strncmp(bearer, "Bearer ", 7) == 0)
		text = bearer + 7;
	return keys_find_by_text(e2b, text);
}

/* Finds what serves the request's method and path. Keeps the variable parts of the path in call->path_parts. */
static bool management_find_route(struct management_call *call, const struct management_route **ret_route)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (strcmp(routes[i].method, http_get_method(call->request)) == 0 &&
		    http_match_path(routes[i].path, http_get_path(call->request), call->path_parts)) {
			*ret_route = &routes[i];
			return true;
		}
	return false;
}

static void management_on_body(void *data, struct http_request *request, const char *bytes, size_t len)
{
	struct management_call call = {.e2b = data, .request = request, .key = management_find_key(data, request)};
	_cleanup_json_ json_t *body = e2b_parse_body(request, bytes, len);
	const struct management_route *route;

	if (body && call.key && management_find_route(&call, &route))
		route->handle_with_body(&call, body);
	else if (body)
		e2b_answer_error(request, 500, "the request changed while it was read");
}

void management_handle_request(struct e2b *e2b, struct http_request *request)
{
	struct management_call call = {.e2b = e2b, .request = request, .key = management_find_key(e2b, request)};
	const struct management_route *route;

	if (!management_find_route(&call, &route)) {
		e2b_answer_error(request, 404, "this server has no %s %.200s", http_get_method(request),
				 http_get_path(request));
	} else if (!call.key && route->handle != management_answer_health) {
		e2b->denied_request_count++;
		http_add_header(request, "Connection", "close");
		e2b_answer_error(request, 401, "Unauthorized: the header X-API-Key has no key of this server");
	} else if (route->handle) {
		route->handle(&call);
	} else {
		http_read_body(request, E2B_BODY_BYTES_MAX, management_on_body, e2b);
	}
}
