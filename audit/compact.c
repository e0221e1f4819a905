/*
 * In a compact log, a system call's record leaves out what a reader can find in earlier lines or derive: the run, the
 * monotonic time, the process's parent and program when they are those of its last record, and the usual effect of the
 * verdict. expand.c puts all of them back but the monotonic time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/encode.h"

#include "base/banned.h"

static struct encoder_process *compact_slot(const struct encoder *encoder, const struct audit_record *record)
{
	return &encoder->processes[(unsigned)record->pid % ENCODER_PROCESSES];
}

/* Records of connections stay complete: they may lack a process. */
static bool compact_applies(const struct encoder *encoder, const struct audit_record *record)
{
	return encoder->processes && record->syscall && record->pid > 0;
}

bool compact_omits_process(const struct encoder *encoder, const struct audit_record *record)
{
	const struct encoder_process *known;

	if (!compact_applies(encoder, record))
		return false;
	known = compact_slot(encoder, record);
	return known->pid == record->pid && known->ppid == record->ppid && known->host_pid == record->host_pid &&
	       strcmp(known->exe, record->exe ? record->exe : "") == 0;
}

bool compact_omits_effect(const struct encoder *encoder, const struct audit_record *record)
{
	bool refused = record->verdict == VERDICT_DENY || record->verdict == VERDICT_KILL;

	return compact_applies(encoder, record) && record->effect == (refused ? AUDIT_REFUSED : AUDIT_PERFORMED);
}

void compact_remember(struct encoder *encoder, const struct audit_record *record)
{
	const char *exe = record->exe ? record->exe : "";
	struct encoder_process *known;
	char *copy;

	if (!compact_applies(encoder, record) || compact_omits_process(encoder, record))
		return;
	known = compact_slot(encoder, record);
	known->pid = 0;
	copy = strdup(exe);
	if (!copy)
		return; /* the next record names the process again */
	free(known->exe);
	*known = (struct encoder_process){
		.pid = record->pid, .ppid = record->ppid, .host_pid = record->host_pid, .exe = copy};
}

int compact_init(struct encoder *encoder)
{
	encoder->processes = calloc(ENCODER_PROCESSES, sizeof(*encoder->processes));
	return encoder->processes ? 0 : -ENOMEM;
}

void compact_done(struct encoder *encoder)
{
	for (unsigned i = 0; encoder->processes && i < ENCODER_PROCESSES; i++)
		free(encoder->processes[i].exe);
	free(encoder->processes);
	encoder->processes = NULL;
}
