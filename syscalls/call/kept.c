#include "syscalls/call/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Lets the places point into the copy. */
static void kept_call_fix_places(struct call *kept, const struct call *call)
{
	for (size_t i = 0; i < sizeof(kept->resolved_place) / sizeof(kept->resolved_place[0]); i++) {
		const struct place *place = &call->resolved_place[i];
		const char *below = place->path_below_mount_fd;

		if (place->mount && below >= place->virt && below < place->virt + sizeof(place->virt))
			kept->resolved_place[i].path_below_mount_fd =
				kept->resolved_place[i].virt + (below - place->virt);
	}
}

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
	kept_call_fix_places(&kept->call, call);
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
