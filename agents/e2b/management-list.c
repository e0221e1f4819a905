/* Lists sandboxes, for the management API. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agents/e2b/management.h"
#include "base/cleanup.h"
#include "base/text.h"

#define MANAGEMENT_PAGE_SANDBOXES_MAX 100u /* sandboxes on one page of a list */

/* Which sandboxes a client wants listed, and which page of the list. */
struct list_query {
	char *metadata_filter; /* "NAME=VALUE&NAME=VALUE", names and values are percent-encoded twice; owned */
	const char *template_name, *state;
	int64_t started_after_ms; /* only sandboxes that were started since; CLOCK_REALTIME */
	bool is_ascending; /* the oldest sandbox first */
	uint64_t page_size, skipped_count;
};

/* Undoes the percent encoding, in place. */
static void list_decode_percent_encoding(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int high = text[0] == '%' ? text_parse_hex_digit(text[1]) : -1;
		int low = high >= 0 ? text_parse_hex_digit(text[2]) : -1;

		if (low >= 0) {
			*to++ = (char)(high << 4 | low);
			text += 2;
		} else {
			*to++ = *text == '+' ? ' ' : *text;
		}
	}
	*to = '\0';
}

/* Whether the sandbox has all name-value pairs of list_query.metadata_filter. */
static bool list_sandbox_has_metadata(const struct e2b_sandbox *box, const char *query)
{
	_cleanup_free_ char *copy = strdup(query);
	char *rest = copy, *pair;

	while (copy && (pair = strsep(&rest, "&"))) {
		char *value = strchr(pair, '=');
		const char *stored;

		if (!*pair)
			continue;
		if (value)
			*value++ = '\0';
		list_decode_percent_encoding(pair);
		list_decode_percent_encoding(pair);
		if (value) {
			list_decode_percent_encoding(value);
			list_decode_percent_encoding(value);
		}
		stored = json_string_value(json_object_get(box->metadata, pair));
		if (!stored || strcmp(stored, value ? value : "") != 0)
			return false;
	}
	return copy != NULL;
}

/* Whether the sandbox belongs to the caller's key, is ready, and meets all conditions of the query. */
static bool list_query_matches(const struct e2b_sandbox *box, const struct management_call *call,
			       const struct list_query *query)
{
	if (!box->is_ready || box->key != call->key)
		return false;
	if (query->state && !e2b_sandbox_state_is_one_of(box, query->state))
		return false;
	if (query->template_name && strcmp(box->template->name, query->template_name) != 0)
		return false;
	if (box->start_time_ms < query->started_after_ms)
		return false;
	return !query->metadata_filter || list_sandbox_has_metadata(box, query->metadata_filter);
}

/* The time in ms since 1970. 0: no time, or a malformed one. */
static int64_t list_parse_time(const char *text)
{
	struct tm parts = {0};
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;

	return end ? (int64_t)timegm(&parts) * 1000 : 0;
}

/* Reads which sandboxes are wanted, and which page. false: the request has been answered with an error. */
static bool list_parse_query(const struct management_call *call, struct list_query *query)
{
	const char *limit = http_get_query_parameter(call->request, "limit"),
		   *token = http_get_query_parameter(call->request, "nextToken");
	const char *order = http_get_query_parameter(call->request, "order"),
		   *metadata = http_get_query_parameter(call->request, "metadata");

	*query = (struct list_query){.template_name = http_get_query_parameter(call->request, "template"),
				     .state = http_get_query_parameter(call->request, "state"),
				     .page_size = MANAGEMENT_PAGE_SANDBOXES_MAX,
				     .started_after_ms =
					     list_parse_time(http_get_query_parameter(call->request, "startedAfter")),
				     .is_ascending = order && strcmp(order, "asc") == 0};
	if ((limit && text_parse_number(limit, 1, MANAGEMENT_PAGE_SANDBOXES_MAX, &query->page_size) < 0) ||
	    (token && text_parse_number(token, 0, UINT32_MAX, &query->skipped_count) < 0)) {
		e2b_answer_error(call->request, 400, "limit must be from 1 to %u, and nextToken one of this server",
				 MANAGEMENT_PAGE_SANDBOXES_MAX);
		return false;
	}
	query->metadata_filter = metadata ? strdup(metadata) : NULL;
	return true;
}

/* Collects the sandboxes that match a query, the youngest first. Owned by the caller; NULL: no memory. */
static const struct e2b_sandbox **list_collect_sandboxes(const struct management_call *call,
							 const struct list_query *query, size_t *ret_count)
{
	const struct e2b_sandbox **found = calloc(call->e2b->sandbox_count + 1, sizeof(*found));

	*ret_count = 0;
	for (const struct e2b_sandbox *box = call->e2b->sandboxes; found && box; box = box->next)
		if (list_query_matches(box, call, query))
			found[(*ret_count)++] = box;
	return found;
}

static json_t *list_describe_sandbox(const struct e2b_sandbox *box)
{
	json_t *entry = e2b_sandbox_describe_details(box);

	(void)json_object_del(entry, "envdAccessToken");
	(void)json_object_del(entry, "lifecycle");
	(void)json_object_del(entry, "allowInternetAccess");
	return entry;
}

void management_list_sandboxes(const struct management_call *call)
{
	struct list_query query;
	_cleanup_free_ const struct e2b_sandbox **found = NULL;
	size_t count = 0, i;
	json_t *list;
	char token[24];

	if (!list_parse_query(call, &query))
		return;
	if (strcmp(http_get_path(call->request), "/sandboxes") == 0) {
		query.page_size = UINT32_MAX; /* version 1 of the API lists running sandboxes only, without pages */
		query.state = "running";
	}
	found = list_collect_sandboxes(call, &query, &count);
	list = json_array();
	for (i = query.skipped_count; found && i < count && i - query.skipped_count < query.page_size; i++)
		(void)json_array_append_new(list, list_describe_sandbox(found[query.is_ascending ? count - 1 - i : i]));
	free(query.metadata_filter);
	(void)snprintf(token, sizeof(token), "%zu", i);
	if (i < count)
		http_add_header(call->request, "X-Next-Token", token);
	(void)snprintf(token, sizeof(token), "%zu", count);
	http_add_header(call->request, "X-Total-Running", token);
	http_answer_json(call->request, 200, list);
}
