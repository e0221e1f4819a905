/*
 * A compact log leaves out of a call's record what the reader knows by then: the run, the clock's second reading, what
 * the record before of the same process said of it, and the effect that follows from the verdict.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/encode-private.h"

#include "base/banned.h"

static struct encoder_said *said_of(const struct encoder *encoder, const struct audit_record *record)
{
	return &encoder->said[(unsigned)record->pid % ENCODER_SAID];
}

/* Records of events come from elsewhere and need not say as much. */
static bool is_terse(const struct encoder *encoder, const struct audit_record *record)
{
	return encoder->said && record->syscall && record->pid > 0;
}

bool encode_knows(const struct encoder *encoder, const struct audit_record *record)
{
	const struct encoder_said *said;

	if (!is_terse(encoder, record))
		return false;
	said = said_of(encoder, record);
	return said->pid == record->pid && said->ppid == record->ppid && said->host_pid == record->host_pid &&
	       strcmp(said->exe, record->exe ? record->exe : "") == 0;
}

bool encode_follows(const struct encoder *encoder, const struct audit_record *record)
{
	bool refused = record->verdict == VERDICT_DENY || record->verdict == VERDICT_KILL;

	return is_terse(encoder, record) && record->effect == (refused ? AUDIT_REFUSED : AUDIT_PERFORMED);
}

void encode_remember(struct encoder *encoder, const struct audit_record *record)
{
	const char *exe = record->exe ? record->exe : "";
	struct encoder_said *said;
	char *copy;

	if (!is_terse(encoder, record) || encode_knows(encoder, record))
		return;
	said = said_of(encoder, record);
	said->pid = 0;
	copy = strdup(exe);
	if (!copy)
		return; /* it is said each time */
	free(said->exe);
	*said = (struct encoder_said){
		.pid = record->pid, .ppid = record->ppid, .host_pid = record->host_pid, .exe = copy};
}

int encode_compact(struct encoder *encoder)
{
	encoder->said = calloc(ENCODER_SAID, sizeof(*encoder->said));
	return encoder->said ? 0 : -ENOMEM;
}

void encode_forget(struct encoder *encoder)
{
	for (unsigned i = 0; encoder->said && i < ENCODER_SAID; i++)
		free(encoder->said[i].exe);
	free(encoder->said);
	encoder->said = NULL;
}
