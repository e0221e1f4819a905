#include "syscalls/account/result/after.h"

#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>

#include "syscalls/call/call.h"
#include "syscalls/exec/execve.h"

struct after_entries *after_create(void)
{
	return calloc(1, sizeof(struct after_entries));
}

void after_free(struct after_entries *after)
{
	for (size_t i = 0; after && i < after->count; i++) {
		free(after->fired[i].path);
		free(after->fired[i].exe);
	}
	free(after);
}

/* ---- finding the entries of after_read that a call fires ---- */

/* Mask of the entries that fire when this path is read. */
static uint32_t after_find_entries_of_path(const struct call *call, const char *virt)
{
	return virt ? policy_find_entries_fired_by_read(call->sandbox->policy, virt, strlen(virt)) : 0;
}

/* Mask of the entries that fire when the program, an interpreter or the loader is read. */
static uint32_t after_find_entries_of_exec(const struct call *call)
{
	const struct exec_plan *plan = call->outcome.exec_plan;
	uint32_t found = after_find_entries_of_path(call, call->resolved_place[0].virt);

	if (call->outcome.kind == OUTCOME_EXEC && plan)
		found |= after_find_entries_of_path(call, plan->virtual_path) |
			 after_find_entries_of_path(call, plan->loader_virtual_path);
	return found;
}

/*
 * Finds the entries of after_read that a rename fires: those with a path at the renamed place or, for a directory,
 * below it.
 */
static uint32_t after_find_entries_in_moved_dir(const struct call *call, unsigned place)
{
	return policy_find_entries_fired_by_read_below(call->sandbox->policy, call->resolved_place[place].virt,
						       call->resolved_place[place].virt_len);
}

/* Mask of the entries that the call fires by what it reads. */
static uint32_t after_find_entries_read_by_call(const struct call *call)
{
	bool exchange = call->row->arg[4].kind == ARG_FLAGS && call->arg[4] & RENAME_EXCHANGE;

	if (call->decision.verdict == VERDICT_DENY || !call->resolved_place[0].mount)
		return 0;
	switch (call->row->file_use) {
	case FILE_USE_READ:
		return call->decision.wanted_rights & POLICY_READ
			       ? after_find_entries_of_path(call, call->resolved_place[0].virt)
			       : 0;
	case FILE_USE_EXECUTE:
		return after_find_entries_of_exec(call);
	case FILE_USE_RENAME:
		return after_find_entries_in_moved_dir(call, 0) |
		       (exchange && call->resolved_place[1].mount ? after_find_entries_in_moved_dir(call, 1) : 0);
	case FILE_USE_NONE:
	default:
		return 0;
	}
}

uint32_t after_find_entries_to_fire(struct call *call)
{
	uint32_t due = after_find_entries_read_by_call(call) & ~call->sandbox->after_entries->completed_entries_mask;

	if (!due || !policy_is_observing(call->sandbox->policy))
		return due;
	after_fire_entries(call, due);
	call->sandbox->after_entries->completed_entries_mask |= due;
	return 0;
}

/* ---- records ---- */

/* Writes an audit record about an entry of after_read. Returns the record's number; 0: it could not be written. */
static uint64_t after_write_record(const struct call *call, const char *label, enum verdict verdict, const char *reason,
				   const char *path)
{
	const struct audit_net event = {.event_name = audit_event_get_name(AUDIT_EVENT_AFTER_READ)};
	struct audit_record record = {.pid = call->task->tgid,
				      .tid = call->tid,
				      .ppid = call->task->ppid,
				      .host_pid = call->task->host_pid,
				      .session_program_number = call->task->session_program_number,
				      .exe = call->task->exe,
				      .net = &event,
				      .verdict = verdict,
				      .effect = AUDIT_EFFECT_PERFORMED,
				      .rule = label,
				      .reason = reason,
				      .resolved_path = path,
				      .resolved_path_len = path ? strlen(path) : 0,
				      .path = path,
				      .path_len = path ? strlen(path) : 0};
	struct audit_outcome_location location = {0};

	if (audit_begin_record(call->sandbox->audit, &record, &location) < 0)
		return 0;
	audit_end_record(call->sandbox->audit, location, 0, 0);
	return location.seq;
}

/* Records that a call fires an entry, and keeps it for the result. */
static void after_note_fired_entry(struct call *call, unsigned entry)
{
	struct after_entries *after = call->sandbox->after_entries;
	const char *path = call->resolved_place[0].virt;
	struct after_fired fired = {.entry = entry, .pid = call->task->tgid, .host_pid = call->task->host_pid};

	fired.seq = after_write_record(call, policy_get_after_label(call->sandbox->policy, entry), VERDICT_ALLOW,
				       "fired", path);
	fired.path = strdup(path);
	fired.exe = strdup(call->task->exe);
	if (after->count < POLICY_AFTER_ENTRIES_MAX && fired.path && fired.exe) {
		after->fired[after->count++] = fired;
		return;
	}
	free(fired.path);
	free(fired.exe);
}

void after_fire_entries(struct call *call, uint32_t entries)
{
	const struct policy *policy = call->sandbox->policy;
	uint32_t fresh = entries & ~policy_get_fired_after_entries(policy);

	policy_fire_after_entries(policy, entries);
	for (unsigned i = 0; i < POLICY_AFTER_ENTRIES_MAX; i++)
		if (fresh & UINT32_C(1) << i)
			after_note_fired_entry(call, i);
}

/* Counts, for the result, what a process has lost by a fired entry. */
static void after_count_loss(struct after_entries *after, unsigned entry, enum after_loss loss)
{
	for (size_t i = 0; i < after->count; i++) {
		struct after_fired *fired = &after->fired[i];

		if (fired->entry != entry)
			continue;
		fired->descriptors += loss == AFTER_DESCRIPTOR || loss == AFTER_SOCKET;
		fired->mappings += loss == AFTER_MAPPING;
		fired->processes += loss == AFTER_PROCESS;
	}
}

void after_record_loss(const struct call *call, unsigned entry, enum after_loss loss, const char *path)
{
	static const char *const reasons[AFTER_LOSS_MAX] = {
		[AFTER_DESCRIPTOR] = "descriptor_closed",
		[AFTER_SOCKET] = "socket_closed",
		[AFTER_MAPPING] = "mapping_closed",
		[AFTER_PROCESS] = "killed",
	};

	after_count_loss(call->sandbox->after_entries, entry, loss);
	(void)after_write_record(call, policy_get_after_label(call->sandbox->policy, entry),
				 loss == AFTER_PROCESS ? VERDICT_KILL : VERDICT_DENY, reasons[loss], path);
}
