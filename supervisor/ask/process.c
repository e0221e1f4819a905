#include "supervisor/ask/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "approval/show.h"
#include "base/buf.h"
#include "base/io.h"
#include "supervisor/report.h"

#define ANCESTOR_COUNT_MAX 16u     /* ancestors of the asking process that a question has */
#define ANCESTOR_LINE_COUNT_MAX 4u /* and those that people are shown, each in a line */

/* A command line: arguments, each with a NUL behind it. */
struct process_command {
	char text[EXEC_COMMAND_BYTES_MAX + 1];
	size_t len;       /* 0: unreadable */
	bool is_recorded; /* as exec was given it; false: as the process has it now, which may have changed it */
};

/* Finds a process's command line: the recorded one, else what it shows. */
static void process_find_command(struct task_table *tree, pid_t pid, struct process_command *ret)
{
	const char *recorded = task_table_find_command(tree, pid, &ret->len);
	char path[32];
	ssize_t got;

	ret->is_recorded = recorded;
	if (recorded) {
		memcpy(ret->text, recorded, ret->len);
	} else {
		(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
		got = io_read_once(AT_FDCWD, path, ret->text, sizeof(ret->text));
		ret->len = got > 0 ? (size_t)got : 0;
	}
	ret->text[ret->len] = '\0';
}

/* As process_find_command(), of the asking process. Nothing where that has ended, or executes another program. */
static void process_find_own_command(const struct asking_process *process, struct process_command *ret)
{
	const struct task *task = NULL;

	ret->len = 0;
	ret->is_recorded = false;
	ret->text[0] = '\0';
	if (process->may_be_another && process->pid)
		task = task_table_find_task(process->tree, process->pid);
	if (!process->may_be_another || (task && strcmp(task->exe, process->exe) == 0))
		process_find_command(process->tree, process->pid, ret);
}

json_t *process_make_command(const char *text, size_t len)
{
	struct shown_lines texts = SHOWN_LINES_INIT;

	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		shown_add_json(&texts, report_make_text_json(text + at));
	return shown_take(&texts);
}

/* Shows a command line in one line, with blanks between arguments. */
static void process_show_command(char out[SHOW_BYTES_MAX], const struct process_command *command)
{
	struct process_command joined = *command;

	if (joined.len > 0 && joined.text[joined.len - 1] == '\0')
		joined.len--;
	for (size_t i = 0; i < joined.len; i++)
		joined.text[i] = joined.text[i] == '\0' ? ' ' : joined.text[i];
	show_text(out, joined.text, joined.len);
}

/* The processes above, up to callgate's own, which the view hides; the nearest first. */
static json_t *process_make_ancestors(struct task_table *tree, pid_t first_pid)
{
	struct shown_lines above = SHOWN_LINES_INIT;
	pid_t pid = first_pid;

	for (unsigned i = 0; i < ANCESTOR_COUNT_MAX && pid > 1 && task_table_pid_is_in_run(tree, pid); i++) {
		struct process_command command;
		char shown[SHOW_BYTES_MAX];

		process_find_command(tree, pid, &command);
		process_show_command(shown, &command);
		shown_add_json(&above, json_pack("{s:i, s:s, s:b}", "pid", (int)pid, "shown", shown, "recorded",
						 command.is_recorded));
		pid = (pid_t)task_table_read_status_number(pid, "PPid", 10);
	}
	return shown_take(&above);
}

void process_compute_equality(const struct asking_process *process, const char *key, char ret_equality[SHA256_HEX_SIZE])
{
	_cleanup_buf_ struct buf bytes = {0};
	struct process_command command;

	process_find_own_command(process, &command);
	buf_add(&bytes, key, strlen(key) + 1);
	buf_add(&bytes, process->exe, strlen(process->exe) + 1);
	buf_add(&bytes, command.text, command.len);
	if (bytes.failed)
		memcpy(ret_equality, key, SHA256_HEX_SIZE);
	else
		sha256_hash_bytes(bytes.data, bytes.len, ret_equality);
}

bool process_add_members(json_t *object, const struct asking_process *process)
{
	struct process_command command;

	process_find_own_command(process, &command);
	return json_object_set_new(object, "command", process_make_command(command.text, command.len)) == 0 &&
	       json_object_set_new(object, "command_recorded", json_boolean(command.is_recorded)) == 0 &&
	       (command.len < EXEC_COMMAND_BYTES_MAX ||
		json_object_set_new(object, "command_is_longer", json_true()) == 0) &&
	       json_object_set_new(object, "processes_above", process_make_ancestors(process->tree, process->ppid)) ==
		       0;
}

/* Adds a line for each of the nearest processes above, and how many others there are. */
static void process_add_ancestor_lines(struct shown_lines *lines, const struct asking_process *process)
{
	json_t *above = process_make_ancestors(process->tree, process->ppid);
	const size_t count = json_array_size(above);

	lines->failed |= !above;
	for (size_t i = 0; i < count && i < ANCESTOR_LINE_COUNT_MAX; i++) {
		const json_t *one = json_array_get(above, i);

		shown_add(lines, "%s: %s",
			  json_is_true(json_object_get(one, "recorded")) ? "started by" : "by what calls itself",
			  json_string_value(json_object_get(one, "shown")));
	}
	if (count > ANCESTOR_LINE_COUNT_MAX)
		shown_add(lines, "processes above that are not shown: %zu%s", count - ANCESTOR_LINE_COUNT_MAX,
			  count == ANCESTOR_COUNT_MAX ? " or more" : "");
	json_decref(above);
}

void process_add_lines(struct shown_lines *lines, const struct asking_process *process)
{
	struct process_command command;
	char shown[SHOW_BYTES_MAX];

	show_text(shown, process->exe, strlen(process->exe));
	shown_add(lines, "program: %s", shown);
	process_find_own_command(process, &command);
	process_show_command(shown, &command);
	if (!process->may_be_another || command.len)
		shown_add(lines, "%s: %s", command.is_recorded ? "started as" : "which calls itself", shown);
	process_add_ancestor_lines(lines, process);
}
