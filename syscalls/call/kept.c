#include "syscalls/call/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kept_call *kept_call_create(const struct call *call)
{
	const size_t exe_size = strlen(call->task->exe) + 1;
	struct kept_call *kept = malloc(sizeof(*kept) + exe_size);

	if (!kept)
		return NULL;
	memcpy(kept->exe, call->task->exe, exe_size);
	kept->task = task_make_copy(call->task, kept->exe);
	kept->call = *call;
	kept->call.task = &kept->task;
	for (size_t i = 0; i < sizeof(call->resolved_place) / sizeof(call->resolved_place[0]); i++)
		place_copy(&kept->call.resolved_place[i], &call->resolved_place[i]);
	if (call->answer) {
		kept->answer = *call->answer;
		kept->call.answer = &kept->answer;
	}
	kept->call.effect_check = NULL;
	kept->call.has_fetched_fd = false;
	kept->call.after_entries_to_fire = 0;
	kept->call.after_entries_checked = true; /* it has read nothing */
	kept->call.outcome = (struct outcome){.kind = OUTCOME_ERROR, .value = -EINTR, .fd = -1};
	return kept;
}
