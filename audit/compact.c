/*
 * In a compact log, the record of a system call leaves out what a reader can find in earlier lines or derive: the run;
 * the monotonic time; parent and executable of the process, if unchanged since its last record; and the usual effect of
 * the verdict. The reader restores all of it, except the monotonic time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/encode.h"
#include "audit/expand.h"

/* The slot of the process in the table, which another process may occupy. */
static struct encoder_process *compact_find_process_slot(const struct encoder *encoder,
							 const struct audit_record *record)
{
	return &encoder->processes[(unsigned)record->pid % ENCODER_PROCESS_TABLE_SLOTS];
}

/* Only records of system calls leave fields out: a record of a connection may have no process. */
static bool compact_may_shorten_record(const struct encoder *encoder, const struct audit_record *record)
{
	return encoder->processes && record->syscall && record->pid > 0;
}

/*
 * Whether a compact record leaves out ppid, program and others, because the last record in the process's slot had the
 * same.
 */
bool compact_omits_process(const struct encoder *encoder, const struct audit_record *record)
{
	const struct encoder_process *known;

	if (!compact_may_shorten_record(encoder, record))
		return false;
	known = compact_find_process_slot(encoder, record);
	return known->pid == record->pid && known->ppid == record->ppid && known->host_pid == record->host_pid &&
	       known->program == record->session_program_number &&
	       strcmp(known->exe, record->exe ? record->exe : "") == 0;
}

/* Whether a compact record leaves "effect" out, because its verdict tells it. */
bool compact_omits_effect(const struct encoder *encoder, const struct audit_record *record)
{
	bool refused = record->verdict == VERDICT_DENY || record->verdict == VERDICT_KILL;

	return compact_may_shorten_record(encoder, record) &&
	       record->effect == (refused ? AUDIT_EFFECT_REFUSED : AUDIT_EFFECT_PERFORMED);
}

void compact_remember_process(struct encoder *encoder, const struct audit_record *record)
{
	const char *exe = record->exe ? record->exe : "";
	struct encoder_process *known;
	char *copy;

	if (!compact_may_shorten_record(encoder, record) || compact_omits_process(encoder, record))
		return;
	known = compact_find_process_slot(encoder, record);
	known->pid = 0;
	copy = strdup(exe);
	if (!copy)
		return; /* no memory: the slot stays unused, so the process's next record repeats its fields */
	free(known->exe);
	*known = (struct encoder_process){.pid = record->pid,
					  .ppid = record->ppid,
					  .host_pid = record->host_pid,
					  .program = record->session_program_number,
					  .exe = copy};
}

void compact_forget_processes(struct encoder *encoder)
{
	for (unsigned i = 0; encoder->processes && i < ENCODER_PROCESS_TABLE_SLOTS; i++)
		encoder->processes[i].pid = 0;
}

int compact_create_process_table(struct encoder *encoder)
{
	encoder->processes = calloc(ENCODER_PROCESS_TABLE_SLOTS, sizeof(*encoder->processes));
	return encoder->processes ? 0 : -ENOMEM;
}

/* Frees the table of processes, by which compact records leave fields out. */
void compact_free_process_table(struct encoder *encoder)
{
	for (unsigned i = 0; encoder->processes && i < ENCODER_PROCESS_TABLE_SLOTS; i++)
		free(encoder->processes[i].exe);
	free(encoder->processes);
	encoder->processes = NULL;
}

static const char *const expand_fields[] = {"ppid", "host_pid", "program", "exe"};

/* Begins to expand the records of another log, unless its header says that it is not compact. */
static void expand_begin_log(struct compact_reader *reader, const json_t *header)
{
	const json_t *run = json_object_get(header, "run");

	expand_free_fields(reader);
	if (!json_is_true(json_object_get(header, "compact")))
		return;
	reader->processes = json_object();
	if (json_is_string(run))
		reader->run = json_stringn(json_string_value(run), strnlen(json_string_value(run), AUDIT_RUN_ID_BYTES));
}

/* A record with "ppid" has all fields of its process. They hold until the next record of that pid with "ppid". */
static void expand_restore_process(struct compact_reader *reader, json_t *record)
{
	const json_t *pid = json_object_get(record, "pid");
	char key[32];
	json_t *known;

	if (!json_is_integer(pid))
		return;
	(void)snprintf(key, sizeof(key), "%lld", (long long)json_integer_value(pid));
	if (!json_object_get(record, "ppid")) {
		known = json_object_get(reader->processes, key);
		if (known)
			(void)json_object_update_missing(record, known);
		return;
	}
	known = json_object();
	for (size_t i = 0; i < sizeof(expand_fields) / sizeof(expand_fields[0]); i++)
		if (json_object_get(record, expand_fields[i]))
			(void)json_object_set(known, expand_fields[i], json_object_get(record, expand_fields[i]));
	(void)json_object_set_new(reader->processes, key, known);
}

/* Adds "effect", which compact records leave out where the verdict tells it. */
static void expand_restore_effect(json_t *record)
{
	const char *verdict = json_string_value(json_object_get(record, "verdict"));
	bool refused = verdict && (strcmp(verdict, "deny") == 0 || strcmp(verdict, "kill") == 0);

	if (!json_object_get(record, "effect"))
		(void)json_object_set_new(record, "effect", json_string(refused ? "refused" : "performed"));
}

bool expand_compact_line(struct compact_reader *reader, json_t *line)
{
	const char *type = json_string_value(json_object_get(line, "type"));

	if (type && strcmp(type, "header") == 0)
		expand_begin_log(reader, line);
	if (type || !reader->processes)
		return false;
	if (reader->run && !json_object_get(line, "run"))
		(void)json_object_set(line, "run", reader->run);
	if (!json_object_get(line, "syscall"))
		return true;
	expand_restore_process(reader, line);
	expand_restore_effect(line);
	return true;
}

void expand_free_fields(struct compact_reader *reader)
{
	json_decref(reader->processes);
	json_decref(reader->run);
	*reader = (struct compact_reader){NULL, NULL};
}
