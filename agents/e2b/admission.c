/*
 * Who gets the next sandbox. While the server has no room, or as many sandboxes are being made as is good for the
 * machine, requests wait: of each key in their order, and of several keys the one that was served longest ago. A key
 * that asks for much delays the others by one sandbox at most.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agents/e2b/private.h"

#define ADMISSION_STARTING_MAX 4u  /* sandboxes that are made at a time */
#define ADMISSION_WAITING_MAX 256u /* requests of one key that may wait */
#define ADMISSION_WAIT_MS 20000u
#define ADMISSION_RETRY_S "2"

struct e2b_waiting {
	struct e2b_waiting *next;
	struct e2b *e2b;
	struct e2b_key *key;
	struct e2b_template *template;
	struct http_request *request;
	struct e2b_wish wish; /* its JSON values are owned */
	struct loop_timer *timer;
};

static void waiting_unlink(struct e2b_waiting *waiting)
{
	struct e2b_waiting **at = &waiting->e2b->waiting;

	while (*at && *at != waiting)
		at = &(*at)->next;
	if (*at) {
		*at = waiting->next;
		waiting->key->waiting--;
	}
}

static void waiting_free(struct e2b_waiting *waiting)
{
	waiting_unlink(waiting);
	loop_cancel(waiting->timer);
	json_decref((json_t *)(uintptr_t)waiting->wish.metadata);
	json_decref((json_t *)(uintptr_t)waiting->wish.env);
	json_decref((json_t *)(uintptr_t)waiting->wish.internet);
	free(waiting);
}

static void admission_refuse(struct e2b_key *key, struct http_request *request, const char *why)
{
	key->refused++;
	log_event("refused", json_pack("{s:s, s:s}", "key", key->name, "why", why));
	http_add_header(request, "Retry-After", ADMISSION_RETRY_S);
	e2b_fail(request, 429, "%s", why);
}

/* False with an answer: the key has used up one of its quotas. */
static bool admission_check_quota(struct e2b_key *key, const struct e2b_template *template,
				  struct http_request *request)
{
	const char *what;
	char why[256];

	if (keys_have_room(key, template, &what))
		return true;
	(void)snprintf(why, sizeof(why), "the key \"%.64s\" has used up its quota of %s", key->name, what);
	admission_refuse(key, request, why);
	return false;
}

static void waiting_on_time(void *data)
{
	struct e2b_waiting *waiting = data;
	struct http_request *request = waiting->request;
	struct e2b_key *key = waiting->key;

	waiting->timer = NULL;
	http_set_owner(request, NULL, NULL);
	waiting_free(waiting);
	admission_refuse(key, request, "the server has no room for another sandbox; try again later");
}

static void waiting_on_done(void *data, bool complete)
{
	(void)complete;
	waiting_free(data); /* the client has hung up */
}

static bool admission_has_room(const struct e2b *e2b)
{
	return e2b->sandbox_count < e2b->sandboxes_max && e2b->starting < ADMISSION_STARTING_MAX;
}

/* The first request of the key that was served longest ago. NULL: none waits. */
static struct e2b_waiting *admission_choose(struct e2b *e2b)
{
	struct e2b_waiting *chosen = NULL;

	for (struct e2b_waiting *waiting = e2b->waiting; waiting; waiting = waiting->next)
		if (!chosen || waiting->key->served < chosen->key->served)
			chosen = waiting;
	return chosen;
}

void admission_run(struct e2b *e2b)
{
	struct e2b_waiting *waiting;

	while (!e2b->is_ending && admission_has_room(e2b) && (waiting = admission_choose(e2b))) {
		waiting->key->served = ++e2b->served;
		waiting_unlink(waiting); /* a sandbox that cannot be made calls admission_run() for the next one */
		http_set_owner(waiting->request, NULL, NULL);
		if (admission_check_quota(waiting->key, waiting->template, waiting->request))
			e2b_sandboxes_start(e2b, waiting->key, waiting->template, waiting->request, &waiting->wish);
		waiting_free(waiting);
	}
}

void admission_add(struct e2b *e2b, struct e2b_key *key, struct e2b_template *template, struct http_request *request,
		   const struct e2b_wish *wish)
{
	struct e2b_waiting *waiting, **at = &e2b->waiting;

	if (!admission_check_quota(key, template, request))
		return;
	if (key->waiting >= ADMISSION_WAITING_MAX) {
		admission_refuse(key, request, "too many requests of this key wait for a sandbox");
		return;
	}
	waiting = calloc(1, sizeof(*waiting));
	if (!waiting) {
		e2b_fail(request, 503, "the server has no memory");
		return;
	}
	*waiting =
		(struct e2b_waiting){.e2b = e2b, .key = key, .template = template, .request = request, .wish = *wish};
	(void)json_incref((json_t *)(uintptr_t)wish->metadata);
	(void)json_incref((json_t *)(uintptr_t)wish->env);
	(void)json_incref((json_t *)(uintptr_t)wish->internet);
	waiting->timer = loop_after(e2b->loop, ADMISSION_WAIT_MS, waiting_on_time, waiting);
	http_set_owner(request, waiting_on_done, waiting);
	while (*at)
		at = &(*at)->next;
	*at = waiting;
	key->waiting++;
	admission_run(e2b);
}

void admission_release(struct e2b *e2b)
{
	while (e2b->waiting) {
		struct http_request *request = e2b->waiting->request;

		http_set_owner(request, NULL, NULL);
		waiting_free(e2b->waiting);
		http_abort(request);
	}
}
