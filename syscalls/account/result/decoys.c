#include "syscalls/account/result/decoys.h"

#include <stdlib.h>
#include <string.h>

#include "syscalls/call/call.h"

/* The reads of decoys, for the result. */
struct decoys {
	struct decoy_read item[DECOY_READS_MAX];
	size_t count; /* used entries of item[] */
};

struct decoys *decoys_create(void)
{
	return calloc(1, sizeof(struct decoys));
}

static void decoy_read_release(struct decoy_read *read)
{
	free(read->path);
	free(read->exe);
	free(read->rule);
}

void decoys_free(struct decoys *decoys)
{
	for (size_t i = 0; decoys && i < decoys->count; i++)
		decoy_read_release(&decoys->item[i]);
	free(decoys);
}

/* Finds the entry of earlier reads by this process. killed: those after which the run was killed. */
static struct decoy_read *decoys_find(struct decoys *decoys, const struct call *call, bool killed)
{
	for (size_t i = 0; i < decoys->count; i++) {
		struct decoy_read *read = &decoys->item[i];

		if (read->pid == call->task->tgid && read->was_killed == killed &&
		    strcmp(read->path, call->resolved_place[0].virt) == 0 && strcmp(read->exe, call->task->exe) == 0)
			return read;
	}
	return NULL;
}

void decoys_add(struct decoys *decoys, const struct call *call)
{
	const bool killed = call->decision.verdict == VERDICT_KILL;
	struct decoy_read *read = decoys_find(decoys, call, killed);

	if (read) {
		read->count++;
		return;
	}
	if (decoys->count == DECOY_READS_MAX)
		return;
	read = &decoys->item[decoys->count];
	*read = (struct decoy_read){.seq = call->outcome_location.seq,
				    .path = strdup(call->resolved_place[0].virt),
				    .exe = strdup(call->task->exe),
				    .rule = strdup(call->decision.rule),
				    .pid = call->task->tgid,
				    .host_pid = call->task->host_pid,
				    .count = 1,
				    .was_killed = killed};
	if (read->path && read->exe && read->rule)
		decoys->count++;
	else
		decoy_read_release(read);
}

const struct decoy_read *decoys_get_list(const struct decoys *decoys, size_t *ret_count)
{
	*ret_count = decoys->count;
	return decoys->item;
}
