#include "supervisor/ask/details.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "approval/show.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/report.h"
#include "view/tree.h"

#define COMMAND_LINE_BYTES_MAX 8192u /* of a command line; what is longer is said to be */
#define ANCESTOR_COUNT_MAX 16u       /* ancestors of the asking process that a question shows */
#define ANCESTOR_BYTES_MAX 200u /* of the command line of a process above */

/* ---- the program ---- */

/* Reads a process's arguments, each with a NUL behind it. Returns their length; 0: unreadable. */
static size_t details_read_command_line(pid_t pid, char text[COMMAND_LINE_BYTES_MAX + 1])
{
	char path[32];
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	text[0] = '\0';
	got = io_read_once(AT_FDCWD, path, text, COMMAND_LINE_BYTES_MAX + 1);
	return got > 0 ? (size_t)got : 0;
}

/* A list of the texts of /proc/PID/cmdline, which NULs separate. */
static json_t *details_make_command(const char *text, size_t len)
{
	json_t *list = json_array();

	for (size_t at = 0; at < len; at += strlen(text + at) + 1)
		(void)json_array_append_new(list, report_make_text_json(text + at));
	return list;
}

/* Shows a command line of at most `max` bytes in one line, with blanks between arguments. */
static void details_show_command(char out[SHOW_BYTES_MAX], char *text, size_t len, size_t max)
{
	if (len > 0 && text[len - 1] == '\0')
		len--;
	if (len > max)
		len = max;
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] == '\0' ? ' ' : text[i];
	show_text(out, text, len);
}

/* The processes above, up to callgate, the nearest first. */
static json_t *details_make_ancestors(pid_t first_pid)
{
	json_t *list = json_array();
	pid_t pid = first_pid;

	for (unsigned i = 0; i < ANCESTOR_COUNT_MAX && pid > 1 && pid != getpid(); i++) {
		char text[COMMAND_LINE_BYTES_MAX + 1], shown[SHOW_BYTES_MAX];
		size_t len = details_read_command_line(pid, text);

		details_show_command(shown, text, len, ANCESTOR_BYTES_MAX);
		(void)json_array_append_new(list, json_pack("{s:i, s:s}", "pid", (int)pid, "shown", shown));
		pid = (pid_t)task_table_read_status_number(pid, "PPid", 10);
	}
	return list;
}

void details_compute_equality(const struct call *denied, const char *key, char ret_equality[SHA256_HEX_SIZE])
{
	_cleanup_buf_ struct buf bytes = {0};
	char text[COMMAND_LINE_BYTES_MAX + 1];

	buf_add(&bytes, key, strlen(key) + 1);
	buf_add(&bytes, denied->task->exe, strlen(denied->task->exe) + 1);
	buf_add(&bytes, text, details_read_command_line(denied->task->tgid, text));
	if (bytes.failed)
		memcpy(ret_equality, key, SHA256_HEX_SIZE);
	else
		sha256_hash_bytes(bytes.data, bytes.len, ret_equality);
}

/* ---- the rule ---- */

/* Whether the path that the question is about is a directory. */
static bool details_names_directory(const struct call *asked)
{
	_cleanup_close_ int fd = view_open_place(&asked->resolved_place[0], O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The list of filesystem that would have to name the path. */
static const char *details_find_list(const struct call *asked)
{
	return asked->decision.wanted_rights & POLICY_WRITE ? "write" : "read";
}

/* Whether a rule denies the call, which no grant beats. */
static bool details_is_denied_by_rule(const struct call *denied)
{
	return denied->decision.rule && strcmp(denied->decision.reason, "denied_by_rule") == 0;
}

/* The rule that would permit the call; null: a rule denies it, and no grant beats that. */
static json_t *details_make_rule(const struct call *denied, const struct call *asked)
{
	json_t *paths;

	if (details_is_denied_by_rule(denied))
		return json_null();
	paths = json_array();
	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		if (asked->resolved_place[i].mount)
			(void)json_array_append_new(paths, report_make_text_json(asked->resolved_place[i].virt));
	return json_pack("{s:{s:o}}", "filesystem", details_find_list(asked), paths);
}

/* What else that rule would open, in a sentence of ours, without text of the program. */
static const char *details_describe_opening(const struct call *denied, const struct call *asked)
{
	const bool writes = asked->decision.wanted_rights & POLICY_WRITE;

	if (details_is_denied_by_rule(denied))
		return "no rule that is added permits it: the rule that denies it would have to be narrowed";
	if (details_names_directory(asked))
		return writes ? "everything at and below that directory, now and later, for every program of the run: "
				"to read, create, change, rename and remove"
			      : "everything at and below that directory, now and later, for every program of the run: "
				"to read and list";
	return writes ? "every way to read, create, change, rename and remove it, at any time, for every program of "
			"the run"
		      : "every way to read it, at any time, for every program of the run";
}

/* ---- for people ---- */

/* Adds the line "name: text" to what a person is shown. */
static void details_add_line(json_t *lines, const char *name, const char *text)
{
	(void)json_array_append_new(lines, json_sprintf("%s: %s", name, text));
}

/* As details_add_line(), with control characters of the text escaped. */
static void details_add_shown(json_t *lines, const char *name, const char *text)
{
	char shown[SHOW_BYTES_MAX];

	show_text(shown, text, strlen(text));
	details_add_line(lines, name, shown);
}

/* The lines by which people decide: printable ASCII, the program's text always within quotation marks. */
static json_t *details_make_lines(const struct call *denied, const struct call *asked, char *command, size_t len)
{
	const unsigned rights = asked->decision.wanted_rights;
	char shown[SHOW_BYTES_MAX];
	json_t *lines = json_array();

	details_add_shown(lines, "program", denied->task->exe);
	details_show_command(shown, command, len, len);
	details_add_line(lines, "which calls itself", shown);
	details_add_line(lines, "wants to", rights & POLICY_WRITE ? "write" : "read");
	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		if (asked->resolved_place[i].mount)
			details_add_shown(lines, "path", asked->resolved_place[i].virt);
	details_add_line(lines, "call", asked->row->name);
	details_add_line(lines, "a rule for this would open", details_describe_opening(denied, asked));
	return lines;
}

/* The words that may be answered: "once", "no" … */
static json_t *details_make_answers(const struct details_options *options)
{
	json_t *answers = json_pack("[s]", "once");

	if (options->can_hold_for_run)
		(void)json_array_append_new(answers, json_string("run"));
	if (options->can_hold_for_run && options->can_be_remembered)
		(void)json_array_append_new(answers, json_string("remember"));
	(void)json_array_append_new(answers, json_string("no"));
	(void)json_array_append_new(answers, json_string("stop"));
	return answers;
}

void details_add(json_t *object, const struct details_options *options, const struct call *denied,
		 const struct call *asked)
{
	char command[COMMAND_LINE_BYTES_MAX + 1];
	size_t len = details_read_command_line(denied->task->tgid, command);

	(void)json_object_set_new(object, "type", json_string("question"));
	(void)json_object_set_new(object, "policy", report_make_text_json(options->policy_name));
	(void)json_object_set_new(object, "policy_sha256", json_string(options->policy_sha256));
	(void)json_object_set_new(object, "command", details_make_command(command, len));
	if (len == COMMAND_LINE_BYTES_MAX)
		(void)json_object_set_new(object, "command_is_longer", json_true());
	(void)json_object_set_new(object, "processes_above", details_make_ancestors(denied->task->ppid));
	(void)json_object_set_new(object, "rule_to_add", details_make_rule(denied, asked));
	(void)json_object_set_new(object, "rule_would_open", json_string(details_describe_opening(denied, asked)));
	(void)json_object_set_new(object, "answers", details_make_answers(options));
	(void)json_object_set_new(object, "shown", details_make_lines(denied, asked, command, len));
}
