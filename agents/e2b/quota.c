/* Quotas of processor time: a timer charges running sandboxes to their keys, and ends those of a used-up quota. */
#include <errno.h>

#include "agents/e2b/private.h"

#define QUOTA_CHECK_INTERVAL_MS 1000u /* between these checks a key's sandboxes can exceed its quota */

/* Finds a sandbox whose key has used up its quota of processor time. NULL: there is none. */
static struct e2b_sandbox *quota_find_exhausted_sandbox(const struct e2b *e2b)
{
	struct e2b_sandbox *box = e2b->sandboxes;

	while (box && (!box->is_ready || !keys_cpu_quota_is_used_up(box->key)))
		box = box->next;
	return box;
}

/* Ends sandboxes whose key has no processor time left, and asks all other sandboxes how much they have used. */
static void quota_on_timer(void *data)
{
	struct e2b *e2b = data;
	struct e2b_sandbox *box;

	/* The first timer that a timer's callback adds takes the callback's own memory, so adding it cannot fail. */
	e2b->quota_timer = loop_add_timer(e2b->loop, QUOTA_CHECK_INTERVAL_MS, quota_on_timer, e2b);
	while ((box = quota_find_exhausted_sandbox(e2b)))
		e2b_sandbox_end(box, "cpu_quota");
	for (box = e2b->sandboxes; box; box = box->next)
		if (box->is_ready && box->key->cpu_max_ms < UINT64_MAX)
			sandbox_request_usage(box->sandbox);
}

int quota_start_cpu_watch(struct e2b *e2b)
{
	for (size_t i = 0; i < e2b->key_count && !e2b->quota_timer; i++)
		if (e2b->keys[i].cpu_max_ms < UINT64_MAX) {
			e2b->quota_timer = loop_add_timer(e2b->loop, QUOTA_CHECK_INTERVAL_MS, quota_on_timer, e2b);
			if (!e2b->quota_timer)
				return -ENOMEM;
		}
	return 0;
}

void quota_stop_cpu_watch(struct e2b *e2b)
{
	loop_cancel_timer(e2b->quota_timer);
}
