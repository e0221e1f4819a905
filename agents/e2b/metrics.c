/* /metrics in the text format of Prometheus: numbers of the server, and of each key. */
#include "agents/e2b/private.h"
#include "base/buf.h"
#include "base/cleanup.h"

/* A name of a key as the value of a label: backslash, quote and newline are escaped. */
static void metrics_put_label(struct buf *text, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			buf_puts(text, "\\n");
		else
			buf_printf(text, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
	}
}

static void metrics_put_head(struct buf *text, const char *name, const char *type, const char *help)
{
	buf_printf(text, "# HELP callgate_%s %s\n# TYPE callgate_%s %s\n", name, help, name, type);
}

static void metrics_put_one(struct buf *text, const char *name, const char *type, const char *help, uint64_t value)
{
	metrics_put_head(text, name, type, help);
	buf_printf(text, "callgate_%s %llu\n", name, (unsigned long long)value);
}

/* One value of each key that may be told to the one that asks: itself, or all. */
static void metrics_put_keys(struct buf *text, const struct e2b *e2b, const struct e2b_key *asker, const char *name,
			     const char *type, const char *help, uint64_t (*get)(const struct e2b_key *key))
{
	metrics_put_head(text, name, type, help);
	for (size_t i = 0; i < e2b->key_count; i++) {
		if (!asker->is_operator && asker != &e2b->keys[i])
			continue;
		buf_printf(text, "callgate_%s{key=\"", name);
		metrics_put_label(text, e2b->keys[i].name);
		buf_printf(text, "\"} %llu\n", (unsigned long long)get(&e2b->keys[i]));
	}
}

static uint64_t get_sandboxes(const struct e2b_key *key)
{
	return key->sandboxes;
}

static uint64_t get_memory(const struct e2b_key *key)
{
	return key->memory;
}

static uint64_t get_disk(const struct e2b_key *key)
{
	return key->disk;
}

static uint64_t get_created(const struct e2b_key *key)
{
	return key->created;
}

static uint64_t get_refused(const struct e2b_key *key)
{
	return key->refused;
}

static uint64_t get_waiting(const struct e2b_key *key)
{
	return key->waiting;
}

static uint64_t get_cpu_ms(const struct e2b_key *key)
{
	return key->cpu_ms;
}

void metrics_answer(struct e2b *e2b, const struct e2b_key *key, struct http_request *request)
{
	_cleanup_buf_ struct buf text = {0};

	metrics_put_one(&text, "sandboxes_max", "gauge", "Most sandboxes at a time.", e2b->sandboxes_max);
	metrics_put_one(&text, "connections", "gauge", "Connections of clients.",
			http_server_count_connections(e2b->http));
	metrics_put_one(&text, "requests_total", "counter", "Requests.", e2b->requests);
	metrics_put_one(&text, "requests_denied_total", "counter", "Requests with a wrong key, token or sandbox id.",
			e2b->requests_denied);
	metrics_put_one(&text, "start_failures_total", "counter", "Sandboxes that could not be made.",
			e2b->start_failures);
	metrics_put_keys(&text, e2b, key, "sandboxes", "gauge", "Sandboxes that exist.", get_sandboxes);
	metrics_put_keys(&text, e2b, key, "reserved_memory_bytes", "gauge", "Memory that these may use.", get_memory);
	metrics_put_keys(&text, e2b, key, "reserved_disk_bytes", "gauge", "Disk space that these may use.", get_disk);
	metrics_put_keys(&text, e2b, key, "cpu_milliseconds_total", "counter",
			 "Processor time of programs that have ended.", get_cpu_ms);
	metrics_put_keys(&text, e2b, key, "waiting", "gauge", "Requests that wait for a sandbox.", get_waiting);
	metrics_put_keys(&text, e2b, key, "sandboxes_created_total", "counter", "Sandboxes that were started.",
			 get_created);
	metrics_put_keys(&text, e2b, key, "refused_total", "counter", "Requests refused for want of quota or room.",
			 get_refused);
	if (text.failed)
		e2b_fail(request, 503, "the server has no memory");
	else
		http_answer(request, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.len);
}
