/*
 * Admission: which request for a sandbox is served next. Requests wait while the server has as many sandboxes as it may
 * have, or makes ADMISSION_STARTS_AT_ONCE_MAX of them already. The next request is that of the key that was served
 * longest ago; requests of one key are served in their order. So a key with many requests delays the others by one
 * sandbox at most.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agents/e2b/private.h"
#include "agents/e2b/spares.h"
#include "agents/slist.h"

#define ADMISSION_STARTS_AT_ONCE_MAX 4u    /* sandboxes that are being made at a time */
#define ADMISSION_WAITING_PER_KEY_MAX 256u /* requests of one key that may wait */
#define ADMISSION_WAIT_TIMEOUT_MS 20000u

/* A client's request for a sandbox that waits for its turn. */
struct e2b_waiting_request {
	struct e2b_waiting_request *next;
	struct e2b *e2b;
	struct e2b_key *key;
	struct e2b_template *template;
	struct http_request *request;
	struct e2b_create_options create_options; /* JSON values are owned */
	struct loop_timer *timeout_timer;
};

static void waiting_request_unlink(struct e2b_waiting_request *waiting)
{
	if (slist_remove(waiting->e2b->waiting_requests, waiting, next))
		waiting->key->waiting_request_count--;
}

static void waiting_request_free(struct e2b_waiting_request *waiting)
{
	waiting_request_unlink(waiting);
	loop_cancel_timer(waiting->timeout_timer);
	json_decref((json_t *)(uintptr_t)waiting->create_options.metadata);
	json_decref((json_t *)(uintptr_t)waiting->create_options.env);
	json_decref((json_t *)(uintptr_t)waiting->create_options.allow_internet_access);
	free(waiting);
}

/* Answers with 429 that the sandbox cannot be had now, and counts it for the key. */
static void admission_refuse(struct e2b_key *key, struct http_request *request, const char *why)
{
	key->refused_request_count++;
	log_event("refused", json_pack("{s:s, s:s}", "key", key->name, "why", why));
	http_add_header(request, "Retry-After", ADMISSION_RETRY_AFTER_S);
	e2b_answer_error(request, 429, "%s", why);
}

/* Whether the key has quota for one more sandbox. False: it has not, and the request was answered with 429. */
static bool admission_check_quota(struct e2b_key *key, const struct e2b_template *template,
				  struct http_request *request)
{
	const char *what;
	char why[256];

	if (keys_have_quota_for(key, template, &what))
		return true;
	(void)snprintf(why, sizeof(why), "the key \"%.64s\" has used up its quota of %s", key->name, what);
	admission_refuse(key, request, why);
	return false;
}

static void waiting_request_on_timeout(void *data)
{
	struct e2b_waiting_request *waiting = data;
	struct http_request *request = waiting->request;
	struct e2b_key *key = waiting->key;

	waiting->timeout_timer = NULL;
	http_set_owner(request, NULL, NULL);
	waiting_request_free(waiting);
	admission_refuse(key, request, "the server has no room for another sandbox; try again later");
}

static void waiting_request_on_hangup(void *data, bool complete)
{
	(void)complete;
	waiting_request_free(data); /* the client has hung up */
}

/* Whether a sandbox may start now: neither the limit of all sandboxes nor that of simultaneous starts is reached. */
static bool admission_may_start_sandbox(const struct e2b *e2b)
{
	return e2b->sandbox_count < e2b->sandboxes_max && e2b->starting_sandbox_count < ADMISSION_STARTS_AT_ONCE_MAX;
}

/* Returns the first request of the key that was served longest ago. NULL: no request waits. */
static struct e2b_waiting_request *admission_choose_next(struct e2b *e2b)
{
	struct e2b_waiting_request *chosen = NULL;

	for (struct e2b_waiting_request *waiting = e2b->waiting_requests; waiting; waiting = waiting->next)
		if (!chosen || waiting->key->admitted_count_at_last_turn < chosen->key->admitted_count_at_last_turn)
			chosen = waiting;
	return chosen;
}

void admission_serve_queue(struct e2b *e2b)
{
	struct e2b_waiting_request *waiting;

	while (!e2b->is_stopping && admission_may_start_sandbox(e2b) && (waiting = admission_choose_next(e2b))) {
		waiting->key->admitted_count_at_last_turn = ++e2b->admitted_request_count;
		/* Unlinked first: when a sandbox cannot be made, spares_give_or_make() calls this function again. */
		waiting_request_unlink(waiting);
		http_set_owner(waiting->request, NULL, NULL);
		if (admission_check_quota(waiting->key, waiting->template, waiting->request))
			spares_give_or_make(e2b, waiting->key, waiting->template, waiting->request,
					    &waiting->create_options);
		waiting_request_free(waiting);
	}
}

void admission_queue_request(struct e2b *e2b, struct e2b_key *key, struct e2b_template *template,
			     struct http_request *request, const struct e2b_create_options *create_options)
{
	struct e2b_waiting_request *waiting;

	if (!admission_check_quota(key, template, request))
		return;
	if (key->waiting_request_count >= ADMISSION_WAITING_PER_KEY_MAX) {
		admission_refuse(key, request, "too many requests of this key wait for a sandbox");
		return;
	}
	waiting = calloc(1, sizeof(*waiting));
	if (!waiting) {
		e2b_answer_error(request, 503, "the server has no memory");
		return;
	}
	*waiting = (struct e2b_waiting_request){
		.e2b = e2b, .key = key, .template = template, .request = request, .create_options = *create_options};
	(void)json_incref((json_t *)(uintptr_t)create_options->metadata);
	(void)json_incref((json_t *)(uintptr_t)create_options->env);
	(void)json_incref((json_t *)(uintptr_t)create_options->allow_internet_access);
	waiting->timeout_timer =
		loop_add_timer(e2b->loop, ADMISSION_WAIT_TIMEOUT_MS, waiting_request_on_timeout, waiting);
	http_set_owner(request, waiting_request_on_hangup, waiting);
	slist_append(e2b->waiting_requests, waiting, next);
	key->waiting_request_count++;
	admission_serve_queue(e2b);
}

void admission_abort_all(struct e2b *e2b)
{
	while (e2b->waiting_requests) {
		struct http_request *request = e2b->waiting_requests->request;

		http_set_owner(request, NULL, NULL);
		waiting_request_free(e2b->waiting_requests);
		http_abort(request);
	}
}
