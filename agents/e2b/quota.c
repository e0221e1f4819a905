/* The quota of processor time of a key: what its sandboxes use while they run is added up, and ends them all. */
#include <errno.h>

#include "agents/e2b/private.h"

#define QUOTA_INTERVAL_MS 1000u /* a key can exceed its quota by what all processors do in it */

/* The next sandbox whose key has used up its processor time. NULL: there is none. */
static struct e2b_sandbox *quota_find_exhausted(const struct e2b *e2b)
{
	struct e2b_sandbox *box = e2b->sandboxes;

	while (box && (!box->is_ready || !keys_cpu_is_used_up(box->key)))
		box = box->next;
	return box;
}

/* Ends the sandboxes of keys that have used up their time, and asks the others what they use. */
static void quota_on_timer(void *data)
{
	struct e2b *e2b = data;
	struct e2b_sandbox *box;

	e2b->quota_timer = loop_add_timer(e2b->loop, QUOTA_INTERVAL_MS, quota_on_timer, e2b);
	while ((box = quota_find_exhausted(e2b)))
		e2b_sandbox_end(box, "cpu_quota");
	for (box = e2b->sandboxes; box; box = box->next)
		if (box->is_ready && box->key->cpu_max_ms < UINT64_MAX)
			sandbox_ask_usage(box->sandbox);
}

int quota_watch_cpu(struct e2b *e2b)
{
	for (size_t i = 0; i < e2b->key_count && !e2b->quota_timer; i++)
		if (e2b->keys[i].cpu_max_ms < UINT64_MAX) {
			e2b->quota_timer = loop_add_timer(e2b->loop, QUOTA_INTERVAL_MS, quota_on_timer, e2b);
			if (!e2b->quota_timer)
				return -ENOMEM;
		}
	return 0;
}

void quota_stop(struct e2b *e2b)
{
	loop_cancel_timer(e2b->quota_timer);
}
