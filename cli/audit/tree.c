/* callgate audit show --tree: prints which process started which, and what each process did. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/audit.h"
#include "cli/audit/tally.h"

#define TREE_NO_PARENT SIZE_MAX
/* most processes in a tree: each takes two items of a tally, for its pid and for its parent's pid */
#define TREE_PROCESSES_MAX (TALLY_ITEMS_MAX / 2)
#define TREE_PRINTED_DEPTH_MAX 200u /* deeper processes are not indented further */
#define TREE_PROGRAMS_SHOWN_MAX 4u

/* A process in the tree of processes of a log. */
struct tree_process {
	size_t log;
	int64_t pid, ppid;
	size_t parent, first_child, last_child, next; /* indices of processes; TREE_NO_PARENT: none */
	uint64_t calls, denied;
	size_t program_count; /* number of programs that the process executed, one after the other */
	char *program_names;  /* names of the first programs, separated by " -> "; owned */
	char *last_program;   /* name of the last program; owned */
};

/* The processes of all logs, for `callgate audit show --tree`. */
struct process_tree {
	const struct audit_filter *filter;
	struct tree_process *processes; /* owned */
	size_t process_count, room;
	/* tally of names "LOG PID"; counts[0]: index in processes[], plus 1, of the latest process with this pid */
	struct tally latest_by_log_and_pid;
	size_t root_first, root_last;
	bool is_out_of_memory;
	uint64_t left_out_process_count; /* records of processes beyond TREE_PROCESSES_MAX */
};

static struct tally_item *tree_find_latest_process_of_pid(struct process_tree *tree, size_t log, int64_t pid)
{
	char key[48];
	int len = snprintf(key, sizeof(key), "%zu %lld", log, (long long)pid);

	return tree->process_count < TREE_PROCESSES_MAX
		       ? tally_find_or_add_item(&tree->latest_by_log_and_pid, key, (size_t)len)
		       : tally_find_item(&tree->latest_by_log_and_pid, key, (size_t)len);
}

/* Whether the process's latest program is the one of the record. */
static bool process_runs_program(const struct tree_process *process, const struct scan_text *exe)
{
	return process->last_program && exe->at && strlen(process->last_program) == exe->len &&
	       memcmp(process->last_program, exe->at, exe->len) == 0;
}

/*
 * Whether a record belongs to the process that is known by its pid. If parent and program differ, the pid was given to
 * a new process. If only the parent differs, the old parent has ended.
 */
static bool process_made_record(const struct tree_process *process, const struct scan_record *record)
{
	return process->ppid == record->ppid || record->ppid == 0 || process->ppid == 0 ||
	       process_runs_program(process, &record->exe);
}

/* Appends the process to its parent's children, or to the processes without parent. */
static void tree_link_to_parent(struct process_tree *tree, size_t index)
{
	struct tree_process *process = &tree->processes[index];
	size_t *first =
		process->parent == TREE_NO_PARENT ? &tree->root_first : &tree->processes[process->parent].first_child;
	size_t *last =
		process->parent == TREE_NO_PARENT ? &tree->root_last : &tree->processes[process->parent].last_child;

	process->next = TREE_NO_PARENT;
	if (*last == TREE_NO_PARENT)
		*first = index;
	else
		tree->processes[*last].next = index;
	*last = index;
}

/* Adds a process below its parent. NULL: there are too many, or memory ran out. */
static struct tree_process *tree_add_process(struct process_tree *tree, const struct audit_entry *entry,
					     struct tally_item *latest)
{
	const struct scan_record *record = &entry->record;
	const struct tally_item *parent = tree_find_latest_process_of_pid(tree, entry->log->index, record->ppid);
	struct tree_process *process;

	if (tree->process_count >= TREE_PROCESSES_MAX || !parent ||
	    !array_reserve(&tree->processes, tree->process_count, &tree->room)) {
		tree->is_out_of_memory = tree->is_out_of_memory || tree->process_count < TREE_PROCESSES_MAX;
		return NULL;
	}
	process = &tree->processes[tree->process_count];
	*process = (struct tree_process){.log = entry->log->index,
					 .pid = record->pid,
					 .ppid = record->ppid,
					 .parent = parent->counts[0] && record->ppid ? parent->counts[0] - 1
										     : TREE_NO_PARENT,
					 .first_child = TREE_NO_PARENT,
					 .last_child = TREE_NO_PARENT};
	latest->counts[0] = ++tree->process_count;
	tree_link_to_parent(tree, tree->process_count - 1);
	return process;
}

/* Finds or adds the process of a record; NULL: the record has none, or no memory. */
static struct tree_process *tree_find_process(struct process_tree *tree, const struct audit_entry *entry)
{
	const struct scan_record *record = &entry->record;
	struct tally_item *latest;

	if (!record->pid)
		/* records of DNS queries have no pid, because egress does not know which process asked for a name */
		return NULL;
	latest = tree_find_latest_process_of_pid(tree, entry->log->index, record->pid);
	if (!latest) {
		tree->is_out_of_memory = tree->is_out_of_memory || tree->process_count < TREE_PROCESSES_MAX;
		return NULL;
	}
	if (latest->counts[0] && process_made_record(&tree->processes[latest->counts[0] - 1], record))
		return &tree->processes[latest->counts[0] - 1];
	return tree_add_process(tree, entry, latest);
}

/* Adds a program to those that the process has run, unless it is the last one still. */
static void process_add_program(struct tree_process *process, const struct scan_text *exe)
{
	_cleanup_buf_ struct buf name = {0};

	if (!exe->at || process_runs_program(process, exe))
		return;
	free(process->last_program);
	process->last_program = strndup(exe->at, exe->len);
	if (++process->program_count > TREE_PROGRAMS_SHOWN_MAX)
		return;
	buf_puts(&name, process->program_names ? process->program_names : "");
	buf_puts(&name, process->program_names ? " -> " : "");
	audit_put_text(&name, exe);
	free(process->program_names);
	process->program_names = buf_take_text(&name);
}

static bool tree_on_entry(void *ctx, const struct audit_entry *entry)
{
	struct process_tree *tree = ctx;
	struct tree_process *process = entry->json ? NULL : tree_find_process(tree, entry);

	if (!process) {
		tree->left_out_process_count += !entry->json && tree->process_count >= TREE_PROCESSES_MAX;
		return !tree->is_out_of_memory;
	}
	process_add_program(process, &entry->record.exe);
	if (audit_filter_matches(tree->filter, entry)) {
		process->calls++;
		process->denied += record_is_denied(&entry->record);
	}
	return true;
}

/* Prints a process, indented by its depth. */
static void process_print(const struct tree_process *process, size_t depth)
{
	(void)text_printf(stdout, "%*s%lld  %s",
			  (int)(2 * (depth < TREE_PRINTED_DEPTH_MAX ? depth : TREE_PRINTED_DEPTH_MAX)), "",
			  (long long)process->pid, process->program_names ? process->program_names : "?");
	if (process->program_count > TREE_PROGRAMS_SHOWN_MAX)
		(void)text_printf(stdout, " and %zu more", process->program_count - TREE_PROGRAMS_SHOWN_MAX);
	(void)text_printf(stdout, "  %llu calls", (unsigned long long)process->calls);
	if (process->denied > 0)
		(void)text_printf(stdout, ", %llu denied", (unsigned long long)process->denied);
	(void)text_printf(stdout, "\n");
}

/* Prints the processes, each before its children, in the order of their first records. */
static void tree_print(const struct process_tree *tree, const char *const *paths)
{
	size_t at = tree->root_first, depth = 0, log = SIZE_MAX;

	while (at != TREE_NO_PARENT) {
		const struct tree_process *process = &tree->processes[at];

		if (depth == 0 && process->log != log && paths[1])
			(void)text_printf(stdout, "%s:\n", paths[process->log]);
		if (depth == 0)
			log = process->log;
		process_print(process, depth);
		if (process->first_child != TREE_NO_PARENT) {
			at = process->first_child;
			depth++;
			continue;
		}
		while (at != TREE_NO_PARENT && tree->processes[at].next == TREE_NO_PARENT) {
			at = tree->processes[at].parent;
			depth -= at != TREE_NO_PARENT;
		}
		at = at == TREE_NO_PARENT ? TREE_NO_PARENT : tree->processes[at].next;
	}
}

int audit_print_tree(const char *const *paths, const struct audit_filter *filter)
{
	struct process_tree tree = {.filter = filter, .root_first = TREE_NO_PARENT, .root_last = TREE_NO_PARENT};
	const struct audit_reading reading = {.paths = paths, .each = tree_on_entry, .ctx = &tree};
	int status = audit_read_logs(&reading);

	if (tree.is_out_of_memory)
		status = cli_fail_no_memory("audit");
	else
		tree_print(&tree, paths);
	if (tree.left_out_process_count > 0)
		cli_print_error("audit", "%llu records are of processes past the %u that are listed",
				(unsigned long long)tree.left_out_process_count, TREE_PROCESSES_MAX);
	for (size_t i = 0; i < tree.process_count; i++) {
		free(tree.processes[i].program_names);
		free(tree.processes[i].last_program);
	}
	free(tree.processes);
	tally_release(&tree.latest_by_log_and_pid);
	return audit_flush_stdout(status);
}
