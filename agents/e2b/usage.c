/* Resource usage of a sandbox: a program in the sandbox adds up the use of memory, processor and disk there. */
#include <stdlib.h>
#include <string.h>

#include "agents/sandbox/fileop.h"
#include "agents/e2b/private.h"

/* A client's request for the resource usage of a sandbox. */
struct usage_query {
	struct e2b_call *call;
	struct fileop *fileop;
};

/* Gets a number from the sandbox's answer, which is hostile. 0: it is none, or not from 0 to max. */
static double usage_get_bounded_number(const json_t *answer, const char *name, double max)
{
	const json_t *value = json_object_get(answer, name);
	double number = json_is_number(value) ? json_number_value(value) : 0;

	return number >= 0 && number <= max ? number : 0;
}

static void usage_on_answer(void *data, int error, const char *message, const json_t *answer)
{
	struct usage_query *usage = data;
	const struct e2b_sandbox *box = usage->call->box;
	const struct e2b_template *template = box->template;
	struct http_request *request = usage->call->request;
	int64_t now_ms = e2b_get_real_time_ms();
	char now[E2B_TIME_TEXT_SIZE];

	e2b_call_finish(usage->call);
	free(usage);
	if (error) {
		e2b_answer_error(request, 500, "the sandbox does not tell what it uses: %s", message);
		return;
	}
	e2b_format_time(now_ms, now);
	http_answer_json(request, 200,
			 json_pack("[{s:s, s:I, s:i, s:f, s:I, s:I, s:i, s:I, s:I}]", "timestamp", now, "timestampUnix",
				   (json_int_t)(now_ms / 1000), "cpuCount", box->e2b->cpu_count, "cpuUsedPct",
				   usage_get_bounded_number(answer, "cpu", 1e6), "memUsed",
				   (json_int_t)usage_get_bounded_number(answer, "memory", 1e15), "memTotal",
				   (json_int_t) template->memory_limit_bytes, "memCache", 0, "diskUsed",
				   (json_int_t)usage_get_bounded_number(answer, "disk", 1e15), "diskTotal",
				   (json_int_t) template->disk_limit_bytes));
}

static void usage_on_cancel(void *data)
{
	struct usage_query *usage = data;

	fileop_cancel(usage->fileop);
	free(usage);
}

void usage_handle_request(struct e2b_sandbox *box, struct http_request *request)
{
	struct usage_query *usage = calloc(1, sizeof(*usage));
	const struct fileop_handler handler = {.on_answer = usage_on_answer, .data = usage};
	json_t *asked = json_pack("{s:s, s:[s, s, s]}", "op", "usage", "places", E2B_WORKDIR, "/tmp", "/var/tmp");

	if (usage)
		usage->call = e2b_call_create(box, request, usage_on_cancel, usage);
	if (usage && usage->call && fileop_start(box->sandbox, asked, &handler, &usage->fileop) == 0) {
		fileop_end_content(usage->fileop);
		return;
	}
	if (!usage || !usage->call)
		json_decref(asked);
	else
		e2b_call_finish(usage->call);
	free(usage);
	e2b_answer_error(request, 503, "the sandbox does not tell what it uses");
}
