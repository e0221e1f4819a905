#include "syscalls/call/kept.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_PATHS 2 /* of struct call */

struct kept_call {
	struct task task;
	struct call_answer answer;
	/* the members before the texts */
	unsigned char call[offsetof(struct call, path)];
	unsigned char path[KEPT_PATHS][offsetof(struct call_path, text)];
	unsigned char place[KEPT_PATHS][offsetof(struct place, virt)];
	ptrdiff_t below[KEPT_PATHS]; /* offset of path_below_mount_fd in virt; -1: it does not point there */
	char texts[]; /* exe of the task; path[].text, resolved_place[].virt; text_arg; each with a NUL */
};

/* A text of the call. */
struct kept_text {
	char *text;
	size_t len;
};

/* Lists the texts behind exe in the order in which they are kept. Returns how many there are. */
static size_t kept_list_texts(struct call *call, struct kept_text ret_text[2 * KEPT_PATHS + 1])
{
	size_t count = 0;

	for (unsigned i = 0; i < call->path_count; i++) {
		struct call_path *path = &call->path[i];

		ret_text[count++] =
			(struct kept_text){path->text, path->error || path->is_null_pointer ? 0 : path->len};
	}
	for (unsigned i = 0; i < KEPT_PATHS; i++)
		ret_text[count++] = (struct kept_text){call->resolved_place[i].virt, call->resolved_place[i].virt_len};
	ret_text[count++] = (struct kept_text){call->text_arg, call->text_arg_error ? 0 : call->text_arg_len};
	return count;
}

struct kept_call *kept_call_create(const struct call *call)
{
	struct kept_text text[2 * KEPT_PATHS + 1];
	const size_t count = kept_list_texts((struct call *)(uintptr_t)call, text);
	size_t size = strlen(call->task->exe) + 1;
	struct kept_call *kept;
	char *at;

	for (size_t i = 0; i < count; i++)
		size += text[i].len + 1;
	kept = malloc(sizeof(*kept) + size);
	if (!kept)
		return NULL;
	memcpy(kept->call, call, sizeof(kept->call));
	if (call->answer)
		kept->answer = *call->answer;
	for (unsigned i = 0; i < KEPT_PATHS; i++) {
		memcpy(kept->path[i], &call->path[i], sizeof(kept->path[i]));
		memcpy(kept->place[i], &call->resolved_place[i], sizeof(kept->place[i]));
		kept->below[i] = place_get_offset_below(&call->resolved_place[i]);
	}
	kept->task = task_make_copy(call->task, kept->texts);
	at = stpcpy(kept->texts, call->task->exe) + 1;
	for (size_t i = 0; i < count; i++) {
		memcpy(at, text[i].text, text[i].len);
		at += text[i].len;
		*at++ = '\0';
	}
	return kept;
}

void kept_call_restore(struct kept_call *kept, struct call *ret_call)
{
	struct kept_text text[2 * KEPT_PATHS + 1];
	const char *at = kept->texts + strlen(kept->texts) + 1;
	size_t count;

	memcpy(ret_call, kept->call, sizeof(kept->call));
	for (unsigned i = 0; i < KEPT_PATHS; i++) {
		struct place *place = &ret_call->resolved_place[i];

		memcpy(&ret_call->path[i], kept->path[i], sizeof(kept->path[i]));
		memcpy(place, kept->place[i], sizeof(kept->place[i]));
		if (kept->below[i] >= 0)
			place->path_below_mount_fd = place->virt + kept->below[i];
	}
	count = kept_list_texts(ret_call, text);
	for (size_t i = 0; i < count; i++) {
		memcpy(text[i].text, at, text[i].len + 1);
		at += text[i].len + 1;
	}
	ret_call->task = &kept->task;
	ret_call->answer = ret_call->answer ? &kept->answer : NULL;
	ret_call->effect_check = NULL;
	ret_call->has_fetched_fd = false;
	ret_call->after_entries_to_fire = 0;
	ret_call->after_entries_checked = true; /* it has read nothing */
	ret_call->outcome =
		(struct outcome){.kind = OUTCOME_ERROR,
				 .value = ret_call->decision.verdict == VERDICT_DENY ? ret_call->outcome.value : -EINTR,
				 .fd = -1};
}
