/* Sandboxes that are made before a client asks for one. */
#include "agents/e2b/spares.h"

#include <errno.h>
#include <stdlib.h>

#include "agents/e2b/contexts.h"

#define SPARE_START_FAILURES_MAX 3u /* after so many failures in a row, no more spares of the template are made */
#define SPARE_REFILL_DELAY_MS 50u   /* between giving away a spare and making a new one */
#define SPARE_RETRY_DELAY_MS 1000u  /* while there is no room for the descriptors of one more */

/* A spare sandbox is ready, or failed (error). */
static void spare_on_made(struct e2b_sandbox *box, const char *error)
{
	struct e2b *e2b = box->e2b;
	struct e2b_template *template = box->template;

	if (error) {
		log_event("sandbox_failed", json_pack("{s:s, s:s}", "template", template->name, "error", error));
		template->consecutive_spare_failures++;
		e2b_sandbox_free(box);
	} else {
		box->is_ready = true;
		template->consecutive_spare_failures = 0;
		contexts_start_default_python(box);
	}
	spares_refill(e2b, template);
}

/* The session of a sandbox made as a spare has ended, in use or before. */
static void spare_on_session_end(void *data)
{
	struct e2b_sandbox *box = data;
	struct e2b *e2b = box->e2b;
	struct e2b_template *template = box->template;

	if (!box->is_spare) {
		e2b_sandbox_end(box, "session_ended");
		return;
	}
	template->consecutive_spare_failures++;
	e2b_sandbox_free(box);
	spares_refill(e2b, template);
}

/* The time to make spares again has come. */
static void template_on_refill_timer(void *data)
{
	struct e2b_template *template = data;

	template->refill_timer = NULL;
	spares_refill(template->e2b, template);
}

/* Sets the timer to make spares, unless it runs already. */
static void template_set_refill_timer(struct e2b_template *template, uint64_t delay_ms)
{
	if (!template->refill_timer)
		template->refill_timer =
			loop_add_timer(template->e2b->loop, delay_ms, template_on_refill_timer, template);
}

void spares_refill(struct e2b *e2b, struct e2b_template *template)
{
	struct e2b_sandbox *box;
	int error = -EIO;

	for (box = e2b->spares; box; box = box->next)
		if (box->template == template && !box->is_ready)
			return; /* one spare at a time, so that sandboxes for waiting clients are not delayed */
	if (template->spare_count >= template->wanted_spare_count ||
	    template->consecutive_spare_failures >= SPARE_START_FAILURES_MAX || e2b->is_stopping ||
	    !(box = calloc(1, sizeof(*box))))
		return;
	*box = (struct e2b_sandbox){.e2b = e2b,
				    .template = template,
				    .is_spare = true,
				    .start_time_ms = e2b_get_real_time_ms(),
				    .metadata = json_object(),
				    .env = json_object(),
				    .next = e2b->spares};
	e2b->spares = box;
	template->spare_count++;
	if (keys_make_random_id(box->id) && keys_make_random_token(box->traffic_token) &&
	    keys_make_random_token(box->envd_token))
		error = e2b_sandbox_start_session(box, spare_on_made, spare_on_session_end);
	if (error == 0)
		return;
	if (sandbox_error_is_lack_of_descriptors(-error))
		template_set_refill_timer(template, SPARE_RETRY_DELAY_MS); /* nothing else might */
	else
		template->consecutive_spare_failures++;
	e2b_sandbox_free(box);
}

/* Finds a ready spare. NULL: there is none, or the client's options need a sandbox without a network. */
static struct e2b_sandbox *spares_find(struct e2b *e2b, const struct e2b_template *template,
				       const struct e2b_create_options *create_options)
{
	struct e2b_sandbox *box = json_is_false(create_options->allow_internet_access) ? NULL : e2b->spares;

	while (box && (box->template != template || !box->is_ready))
		box = box->next;
	return box;
}

/* Gives a spare to the client whose request asks for a sandbox, and answers the request. */
static void spares_give_to_key(struct e2b_sandbox *box, struct e2b_key *key, struct http_request *request,
			       const struct e2b_create_options *create_options)
{
	struct e2b *e2b = box->e2b;

	e2b_sandbox_unlink(box);
	box->is_spare = false;
	box->key = key;
	(void)json_object_update(box->metadata, (json_t *)(uintptr_t)create_options->metadata);
	(void)json_object_update(box->env, (json_t *)(uintptr_t)create_options->env);
	box->allow_internet_access = json_incref((json_t *)(uintptr_t)create_options->allow_internet_access);
	box->pauses_at_timeout = create_options->pauses_at_timeout;
	if (!create_options->requires_token)
		box->envd_token[0] = '\0';
	box->start_time_ms = e2b_get_real_time_ms();
	box->next = e2b->sandboxes;
	e2b->sandboxes = box;
	e2b->sandbox_count++;
	keys_reserve_quota(key, box->template);
	log_event("sandbox_start",
		  json_pack("{s:s, s:s, s:s, s:s, s:I}", "sandbox", box->id, "key", key->name, "template",
			    box->template->name, "session", sandbox_get_id(box->sandbox), "ms", (json_int_t)0));
	e2b_sandbox_set_end_time(box, e2b_get_real_time_ms() + create_options->timeout_ms);
	http_answer_json(request, 201, e2b_sandbox_describe(box));
	/* not at once: making a spare would slow down what the client does first */
	template_set_refill_timer(box->template, SPARE_REFILL_DELAY_MS);
}

void spares_give_or_make(struct e2b *e2b, struct e2b_key *key, struct e2b_template *template,
			 struct http_request *request, const struct e2b_create_options *create_options)
{
	struct e2b_sandbox *box = spares_find(e2b, template, create_options);

	spares_refill(e2b, template);
	if (box)
		spares_give_to_key(box, key, request, create_options);
	else
		e2b_sandbox_make(e2b, key, template, request, create_options);
}
