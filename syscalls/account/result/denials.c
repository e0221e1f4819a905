/* A hash table of at most DENIALS_LISTED_MAX entries, so that each denial of a flood costs one lookup. */
#include <sys/mman.h>

#include "base/io.h"
#include "base/texthash.h"
#include "syscalls/account/result/denial-text.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/account/result/probes.h"
#include "syscalls/account/result/sink.h"
#include "syscalls/call/call.h"

#define DENIAL_HASH_SLOTS 4096 /* a power of two, well above DENIALS_LISTED_MAX */
_Static_assert(DENIAL_HASH_SLOTS > 2 * DENIALS_LISTED_MAX, "the index would fill up");

/* The denials of a run or program; equal ones are one entry with a count. */
struct denials {
	struct texthash hash; /* of denial keys, for slot[] */
	struct denial item[DENIALS_LISTED_MAX];
	size_t count;            /* used entries of item[] */
	uint64_t unlisted_count; /* denials beyond DENIALS_LISTED_MAX entries */
	struct sink *sink;       /* borrowed; NULL: denials are not told to the system's log */
	/* returns the denials of the session's program with this number; NULL: the run is no session */
	struct denials *(*find_program)(void *ctx, unsigned program);
	void *find_program_ctx;
	uint16_t slot[DENIAL_HASH_SLOTS]; /* index in `item` + 1; 0: empty */
};

struct denials *denials_create(void)
{
	/* mmap(2), because calloc(3) would write to all 28 pages, and most runs use one. */
	struct denials *denials =
		mmap(NULL, sizeof(*denials), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (denials == MAP_FAILED)
		return NULL;
	texthash_init(&denials->hash);
	return denials;
}

static void denial_free_texts(struct denial *item)
{
	free(item->target);
	free(item->resolved_path);
	free(item->rule);
	free(item->reason);
	free(item->exe);
	free(item->suggested_option);
}

void denials_free(struct denials *denials)
{
	if (!denials)
		return;
	for (size_t i = 0; i < denials->count; i++)
		denial_free_texts(&denials->item[i]);
	(void)munmap(denials, sizeof(*denials));
}

static uint64_t denials_hash_key(const struct denials *denials, const struct denial_key *key)
{
	uint64_t hash =
		texthash_compute(&denials->hash, (uint64_t)key->error, key->syscall_name, strlen(key->syscall_name));

	hash = texthash_compute(&denials->hash, hash, key->target, strlen(key->target));
	return texthash_compute(&denials->hash, hash, key->exe, strlen(key->exe));
}

/* Whether an attempt is the same as the item. event: what egress refused; NULL: a system call was refused. */
static bool denial_is_same_attempt(const struct denial *item, const struct denial_key *key, const struct denial *event)
{
	const char *name = event ? item->event : item->syscall_name;

	return item->error == key->error && name && strcmp(name, key->syscall_name) == 0 &&
	       strcmp(item->target, key->target) == 0 && strcmp(item->exe, key->exe) == 0 &&
	       (!event || strcmp(item->reason, event->reason) == 0);
}

/* Returns a copy of `text`; NULL if `text` is NULL. If memory is short, returns NULL and sets *lost. */
static char *denial_copy_text(const char *text, bool *lost)
{
	char *copied = text ? strdup(text) : NULL;

	if (text && !copied)
		*lost = true;
	return copied;
}

/* Fills the item with copies of the texts. False: no memory, and the item has no texts. */
static bool denial_fill_texts(struct denial *item, const char *target, const char *resolved, const char *exe,
			      const char *rule, const char *reason)
{
	bool lost = false;

	item->target = denial_copy_text(target, &lost);
	item->resolved_path = denial_copy_text(resolved, &lost);
	item->exe = denial_copy_text(exe, &lost);
	item->rule = denial_copy_text(rule, &lost);
	item->reason = denial_copy_text(reason, &lost);
	if (lost)
		denial_free_texts(item);
	return !lost;
}

/* Fills a denial from a denied call. False: no memory. */
static bool denial_fill_from_call(struct denial *item, const struct call *call, const struct denial_key *key)
{
	const struct policy_decision decision = denial_get_decision(call);
	const char *suggest_why = NULL;
	char *suggest = denial_suggest_grant(call, &suggest_why);

	*item = (struct denial){.seq = call->outcome_location.seq,
				.syscall_name = key->syscall_name,
				.op = denial_get_operation(call),
				.error = key->error,
				.pid = call->task->tgid,
				.host_pid = call->task->host_pid,
				.on_deny = call->on_deny,
				.answer = call->answer ? call->answer->answer_word : NULL,
				.suggested_option = suggest,
				.suggestion_reason = suggest_why,
				.was_observed = call_is_observed(call),
				.count = 1};
	return denial_fill_texts(item, key->target, denial_get_resolved_path(call), key->exe, decision.rule,
				 decision.reason);
}

/* Copies a denial that egress has reported. False: no memory. */
static bool denial_fill_from_egress_event(struct denial *item, const struct denial *event)
{
	bool unsuggested = false; /* ignored: a denial is kept even without memory for its suggestion */

	*item = *event;
	item->suggested_option = denial_copy_text(event->suggested_option, &unsuggested);
	return denial_fill_texts(item, event->target, event->resolved_path, event->exe, event->rule, event->reason);
}

/* Finds the item of an attempt. NULL: the attempt is new, and *ret_at is its slot. */
static struct denial *denials_find(struct denials *denials, const struct denial_key *key, const struct denial *event,
				   size_t *ret_at)
{
	size_t at = denials_hash_key(denials, key) & (DENIAL_HASH_SLOTS - 1);

	for (; denials->slot[at]; at = (at + 1) & (DENIAL_HASH_SLOTS - 1)) {
		struct denial *item = &denials->item[denials->slot[at] - 1];

		if (denial_is_same_attempt(item, key, event))
			return item;
	}
	*ret_at = at;
	return NULL;
}

void denials_set_sink(struct denials *denials, struct sink *sink)
{
	denials->sink = sink;
}

static void denials_send_call_to_sink(struct denials *denials, const struct call *call, const struct denial_key *key)
{
	const struct policy_decision decision = denial_get_decision(call);

	sink_send_denial(denials->sink,
			 &(struct sink_denial){.syscall_name = key->syscall_name,
					       .target = key->target,
					       .exe = key->exe,
					       .rule = decision.rule,
					       .reason = decision.reason,
					       .pid = call->task->tgid,
					       .error = key->error,
					       .seq = call->outcome_location.seq,
					       .count = 1},
			 io_read_clock_ns());
}

static void denials_send_event_to_sink(struct denials *denials, const struct denial *event)
{
	sink_send_denial(denials->sink,
			 &(struct sink_denial){.syscall_name = event->event,
					       .target = event->target,
					       .exe = event->exe,
					       .rule = event->rule,
					       .reason = event->reason,
					       .pid = event->pid,
					       .error = event->error,
					       .seq = event->seq,
					       .count = event->count},
			 io_read_clock_ns());
}

void denials_set_program_lookup(struct denials *denials, struct denials *(*find)(void *ctx, unsigned program),
				void *ctx)
{
	denials->find_program = find;
	denials->find_program_ctx = ctx;
}

/* The denials of one program of a session. NULL: the run is no session, or the program has none. */
static struct denials *denials_find_of_program(const struct denials *denials, unsigned program)
{
	return denials->find_program && program > 0 ? denials->find_program(denials->find_program_ctx, program) : NULL;
}

void denials_add(struct denials *denials, const struct call *call)
{
	struct denials *of_program = denials_find_of_program(denials, call->task->session_program_number);
	char text[DENIAL_TARGET_BYTES_MAX];
	struct denial_key key;
	struct denial *item;
	size_t at = 0;

	if (probe_is_refused_call(call))
		return;
	key = denial_make_key(call, text);
	if (denials->sink)
		denials_send_call_to_sink(denials, call, &key);
	if (of_program)
		denials_add(of_program, call);
	item = denials_find(denials, &key, NULL, &at);
	if (item)
		item->count++;
	else if (denials->count == DENIALS_LISTED_MAX ||
		 !denial_fill_from_call(&denials->item[denials->count], call, &key))
		denials->unlisted_count++;
	else
		denials->slot[at] = (uint16_t)++denials->count;
}

void denials_add_event(struct denials *denials, const struct denial *event)
{
	const struct denial_key key = {
		.syscall_name = event->event, .target = event->target, .exe = event->exe, .error = event->error};
	struct denials *of_program = denials_find_of_program(denials, event->program_number);
	struct denial *item;
	size_t at = 0;

	if (of_program)
		denials_add_event(of_program, event);
	if (denials->sink)
		denials_send_event_to_sink(denials, event);
	item = denials_find(denials, &key, event, &at);
	if (item)
		item->count += event->count;
	else if (denials->count == DENIALS_LISTED_MAX ||
		 !denial_fill_from_egress_event(&denials->item[denials->count], event))
		denials->unlisted_count += event->count;
	else
		denials->slot[at] = (uint16_t)++denials->count;
}

const struct denial *denials_get_list(const struct denials *denials, size_t *ret_count, uint64_t *ret_unlisted)
{
	*ret_count = denials->count;
	*ret_unlisted = denials->unlisted_count;
	return denials->item;
}
