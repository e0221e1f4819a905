/* Answers /metrics in the text format of Prometheus, with values of the server and of each API key. */
#include "agents/e2b/private.h"
#include "base/buf.h"
#include "base/cleanup.h"

/* Writes a label's value with backslash, quote and newline escaped. */
static void metrics_put_escaped_label(struct buf *text, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			buf_puts(text, "\\n");
		else
			buf_printf(text, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
	}
}

/* Writes the lines that describe a metric, in Prometheus' format. */
static void metrics_put_help_and_type(struct buf *text, const char *name, const char *type, const char *help)
{
	buf_printf(text, "# HELP callgate_%s %s\n# TYPE callgate_%s %s\n", name, help, name, type);
}

/* Writes a metric that has one value. */
static void metrics_put_value(struct buf *text, const char *name, const char *type, const char *help, uint64_t value)
{
	metrics_put_help_and_type(text, name, type, help);
	buf_printf(text, "callgate_%s %llu\n", name, (unsigned long long)value);
}

/* Writes one metric of each API key that the client may know: its own key, or all if its key is an operator's. */
static void metrics_put_value_of_each_key(struct buf *text, const struct e2b *e2b, const struct e2b_key *client_key,
					  const char *name, const char *type, const char *help,
					  uint64_t (*get)(const struct e2b_key *key))
{
	metrics_put_help_and_type(text, name, type, help);
	for (size_t i = 0; i < e2b->key_count; i++) {
		if (!client_key->is_operator && client_key != &e2b->keys[i])
			continue;
		buf_printf(text, "callgate_%s{key=\"", name);
		metrics_put_escaped_label(text, e2b->keys[i].name);
		buf_printf(text, "\"} %llu\n", (unsigned long long)get(&e2b->keys[i]));
	}
}

static uint64_t metrics_get_sandboxes(const struct e2b_key *key)
{
	return key->sandbox_count;
}

static uint64_t metrics_get_reserved_memory(const struct e2b_key *key)
{
	return key->reserved_memory_bytes;
}

static uint64_t metrics_get_reserved_disk(const struct e2b_key *key)
{
	return key->reserved_disk_bytes;
}

static uint64_t metrics_get_created_sandboxes(const struct e2b_key *key)
{
	return key->created_sandbox_count;
}

static uint64_t metrics_get_refused_requests(const struct e2b_key *key)
{
	return key->refused_request_count;
}

static uint64_t metrics_get_waiting_requests(const struct e2b_key *key)
{
	return key->waiting_request_count;
}

static uint64_t metrics_get_cpu_ms(const struct e2b_key *key)
{
	return key->used_cpu_ms;
}

void metrics_answer(struct e2b *e2b, const struct e2b_key *key, struct http_request *request)
{
	_cleanup_buf_ struct buf text = {0};

	metrics_put_value(&text, "sandboxes_max", "gauge", "Most sandboxes at a time.", e2b->sandboxes_max);
	metrics_put_value(&text, "connections", "gauge", "Connections of clients.",
			  http_server_count_connections(e2b->http_server));
	metrics_put_value(&text, "requests_total", "counter", "Requests.", e2b->request_count);
	metrics_put_value(&text, "requests_denied_total", "counter", "Requests with a wrong key, token or sandbox id.",
			  e2b->denied_request_count);
	metrics_put_value(&text, "start_failures_total", "counter", "Sandboxes that could not be made.",
			  e2b->start_failure_count);
	metrics_put_value_of_each_key(&text, e2b, key, "sandboxes", "gauge", "Sandboxes that exist.",
				      metrics_get_sandboxes);
	metrics_put_value_of_each_key(&text, e2b, key, "reserved_memory_bytes", "gauge", "Memory that these may use.",
				      metrics_get_reserved_memory);
	metrics_put_value_of_each_key(&text, e2b, key, "reserved_disk_bytes", "gauge", "Disk space that these may use.",
				      metrics_get_reserved_disk);
	metrics_put_value_of_each_key(&text, e2b, key, "cpu_milliseconds_total", "counter",
				      "Processor time of programs that have ended; of a key with a quota, of all.",
				      metrics_get_cpu_ms);
	metrics_put_value_of_each_key(&text, e2b, key, "waiting", "gauge", "Requests that wait for a sandbox.",
				      metrics_get_waiting_requests);
	metrics_put_value_of_each_key(&text, e2b, key, "sandboxes_created_total", "counter",
				      "Sandboxes that were started.", metrics_get_created_sandboxes);
	metrics_put_value_of_each_key(&text, e2b, key, "refused_total", "counter",
				      "Requests refused for want of quota or room.", metrics_get_refused_requests);
	if (text.failed)
		e2b_answer_error(request, 503, "the server has no memory");
	else
		http_answer(request, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.len);
}
