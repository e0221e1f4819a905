#include "supervisor/ask/details.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "approval/show.h"
#include "base/cleanup.h"
#include "policy/paths/below.h"
#include "policy/paths/literal.h"
#include "supervisor/ask/endpoint.h"
#include "supervisor/ask/shown.h"
#include "supervisor/report.h"
#include "syscalls/exec/execve.h"
#include "view/tree.h"

#define ARGUMENTS_OF_LINE_BYTES_MAX 256u /* arguments of an exec that people are shown in one line */
#define RULE_LINE_BYTES_MAX 512u         /* of a rule that people are shown; a longer one repeats long paths */
#define VALUES_LINE_BYTES_MAX 256u       /* of what a call would write; a longer text is shown as any other */
#define ARGUMENT_LINES_MAX 32u           /* otherwise each has a line, as far as there are no more */

/* ---- the rule ---- */

/* Whether the path that the question is about is a directory. */
static bool details_names_directory(const struct call *asked)
{
	_cleanup_close_ int fd = view_open_place(&asked->resolved_place[0], O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	struct stat st;

	if (fd < 0)
		return fd != -ENOENT; /* what cannot be looked at may be a directory, of which a rule opens more */
	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The list of filesystem that would have to name the path. */
static const char *details_find_list(const struct call *asked)
{
	return asked->decision.wanted_rights & POLICY_WRITE ? "write" : "read";
}

/* Whether a rule denies the call, which no grant beats. */
static bool details_is_denied_by_rule(const struct call *denied)
{
	return denied->decision.rule && (strcmp(denied->decision.reason, "denied_by_rule") == 0 ||
					 strcmp(denied->decision.reason, "exec_denied_by_rule") == 0);
}

/* Why no rule that is added permits just this call. NULL: the rule of details_make_rule() does. */
static const char *details_find_why_no_rule(const struct call *denied, const struct call *asked)
{
	if (details_is_denied_by_rule(denied))
		return "no rule that is added permits it: the rule that denies it would have to be narrowed";
	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		if (asked->resolved_place[i].mount && literal_find_objection(asked->resolved_place[i].virt))
			return "no rule that is added permits just this: its name would mean something else there";
	return NULL;
}

/* The path as a rule has it. NULL: no memory. */
static json_t *details_make_path_of_rule(const char *path)
{
	_cleanup_free_ char *written = literal_write("", path);

	return written ? json_string(written) : NULL;
}

/* The rule that would permit the call; null: details_find_why_no_rule() says why there is none. NULL: no memory. */
static json_t *details_make_rule(const struct call *denied, const struct call *asked)
{
	struct shown_lines paths;

	if (details_find_why_no_rule(denied, asked))
		return json_null();
	if (asked->net.host[0])
		return endpoint_make_rule(asked);
	paths = SHOWN_LINES_INIT;
	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		if (asked->resolved_place[i].mount)
			shown_add_json(&paths, details_make_path_of_rule(asked->resolved_place[i].virt));
	return json_pack("{s:{s:o}}", "filesystem", details_find_list(asked), shown_take(&paths));
}

/* What else that rule would open, in a sentence of ours, without text of the program. */
static const char *details_describe_opening(const struct call *denied, const struct call *asked)
{
	const bool writes = asked->decision.wanted_rights & POLICY_WRITE;

	if (details_find_why_no_rule(denied, asked))
		return details_find_why_no_rule(denied, asked);
	if (asked->net.host[0])
		return endpoint_describe_opening(asked);
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

/* What an exec was asked to run; NULL: the call is none. */
static const struct exec_asked *details_get_executed(const struct call *asked)
{
	return asked->outcome.exec_plan ? asked->outcome.exec_plan->asked : NULL;
}

/* Adds a line for each argument of an exec whose arguments are too long for one line, of which none is left out. */
static void details_add_arguments(struct shown_lines *lines, const struct exec_asked *executed)
{
	unsigned count = 0;

	if (!executed || executed->argv_len <= ARGUMENTS_OF_LINE_BYTES_MAX)
		return;
	for (size_t at = 0; at < executed->argv_len; at += strlen(executed->argv + at) + 1, count++)
		if (count < ARGUMENT_LINES_MAX)
			shown_add_text(lines, "argument", executed->argv + at);
	if (count > ARGUMENT_LINES_MAX)
		shown_add(lines, "arguments that are not shown: %u", count - ARGUMENT_LINES_MAX);
}

/* Adds a line for each variable that may change which code an exec runs, and how many others there are. */
static void details_add_environment(struct shown_lines *lines, const struct exec_environment *environment)
{
	for (size_t at = 0; at < environment->deciding_len; at += strlen(environment->deciding + at) + 1)
		shown_add_text(lines, "with variable", environment->deciding + at);
	shown_add(lines, "other variables: %u", environment->variable_count - environment->deciding_count);
}

/* Adds, of an exec, the arguments and what may be different when it happens. Nothing for other calls. */
static void details_add_exec_lines(struct shown_lines *lines, const struct call *asked)
{
	const struct exec_asked *executed = details_get_executed(asked);
	const struct place *place = asked->resolved_place;
	bool may_change = false;
	char shown[SHOW_BYTES_MAX];

	if (!(asked->decision.wanted_rights & POLICY_EXEC))
		return;
	show_text(shown, asked->text_arg, asked->text_arg_len);
	shown_add(lines, "with arguments: %s", shown);
	details_add_arguments(lines, executed);
	if (executed && executed->cwd[0])
		shown_add_text(lines, "in directory", executed->cwd);
	if (executed)
		details_add_environment(lines, &executed->environment);
	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		may_change = may_change || (place[i].mount && policy_may_write(asked->sandbox->policy, place[i].virt));
	if (may_change)
		shown_add(lines, "note: the program can change that file, also after an answer");
}

void details_add_rule_line(struct shown_lines *lines, json_t *rule)
{
	char *text = json_is_object(rule) ? show_as_json(rule, 0) : NULL;

	lines->failed |= !rule || (json_is_object(rule) && !text);
	if (text && strlen(text) <= RULE_LINE_BYTES_MAX)
		shown_add(lines, "rule for this: %s", text);
	free(text);
	json_decref(rule);
}

/* Whether a call that writes takes more from memory than paths and texts: times, the value of an attribute … */
static bool details_writes_from_memory(const struct call *asked)
{
	if (asked->row->intent != INTENT_NONE || !(asked->decision.wanted_rights & POLICY_WRITE) || asked->net.host[0])
		return false;
	for (unsigned i = 0; i < 6; i++)
		if (asked->row->arg[i].kind == ARG_PTR && asked->arg[i])
			return true;
	return false;
}

/* Adds what a call that writes would write besides a file's contents: a mode, the target of a link, a name … */
static void details_add_written_values(struct shown_lines *lines, const struct call *asked, const json_t *args)
{
	json_t *values = json_copy((json_t *)(uintptr_t)args);
	char *text = NULL;

	(void)json_object_del(values, "flags"); /* fails where there are none */
	if (json_object_size(values) > 0 && asked->decision.wanted_rights & POLICY_WRITE && !asked->net.host[0]) {
		text = show_as_json(values, 0);
		lines->failed |= !text;
	}
	lines->failed |= !values;
	if (text && strlen(text) <= VALUES_LINE_BYTES_MAX)
		shown_add(lines, "with: %s", text);
	else if (text)
		shown_add_text(lines, "with", text);
	free(text);
	json_decref(values);
	if (asked->row->nr == SYS_renameat2 && call_get_uint(asked, 4) & RENAME_EXCHANGE)
		shown_add(lines, "note: the call exchanges what is at the two paths");
	if (details_writes_from_memory(asked))
		shown_add(lines, "note: what the call would write, such as times or the value of an attribute, is not "
				 "shown");
}

/* What a call wants to do, as people are told. */
static const char *details_describe_right(const struct call *asked)
{
	const unsigned rights = asked->decision.wanted_rights;

	if (asked->net.host[0])
		return endpoint_is_of_datagrams(asked) ? "send datagrams" : "connect";
	if (rights & POLICY_EXEC)
		return "execute";
	if (rights & POLICY_WRITE)
		return rights & POLICY_READ ? "read and write" : "write"; /* O_RDWR */
	return "read";
}

bool details_show_scope(const struct call *asked)
{
	const struct exec_asked *executed = details_get_executed(asked);
	const struct exec_environment *environment = executed ? &executed->environment : NULL;

	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		if (asked->resolved_place[i].mount && !shown_is_whole(asked->resolved_place[i].virt))
			return false;
	if (executed && (!executed->cwd[0] || !shown_is_whole(executed->cwd)))
		return false;
	for (size_t at = 0; environment && at < environment->deciding_len; at += strlen(environment->deciding + at) + 1)
		if (!shown_is_whole(environment->deciding + at))
			return false;
	return true;
}

/* Repeats which program wants to do what with which object, in short. */
static void details_add_core_again(struct shown_lines *lines, const struct call *asked,
				   const struct asking_process *process)
{
	shown_add_again(lines, "program", process->exe, strlen(process->exe));
	shown_add(lines, "again: wants to: %s", details_describe_right(asked));
	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		if (asked->resolved_place[i].mount)
			shown_add_again(lines, "path", asked->resolved_place[i].virt,
					asked->resolved_place[i].virt_len);
	if (asked->decision.wanted_rights & POLICY_EXEC)
		shown_add_again(lines, "with arguments", asked->text_arg, asked->text_arg_len);
	if (asked->net.host[0])
		shown_add_again(lines, "host", asked->net.host, strlen(asked->net.host));
}

/* The lines by which people decide: printable ASCII, the program's text always within quotation marks. */
static json_t *details_make_lines(const struct call *denied, const struct call *asked, const json_t *args,
				  const struct asking_process *process)
{
	struct shown_lines lines = SHOWN_LINES_INIT;

	process_add_lines(&lines, process);
	shown_add(&lines, "wants to: %s", details_describe_right(asked));
	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		if (asked->resolved_place[i].mount)
			shown_add_text(&lines, "path", asked->resolved_place[i].virt);
	details_add_exec_lines(&lines, asked);
	details_add_written_values(&lines, asked, args);
	if (asked->net.host[0])
		endpoint_add_lines(&lines, asked);
	shown_add(&lines, "call: %s", asked->row->name);
	details_add_rule_line(&lines, details_make_rule(denied, asked));
	shown_add(&lines, "a rule for this would open: %s", details_describe_opening(denied, asked));
	if (shown_exceed_screen(&lines))
		details_add_core_again(&lines, asked, process);
	return shown_take(&lines);
}

/* The member "environment" of a question about an exec. */
static json_t *details_make_environment(const struct exec_environment *environment)
{
	return json_pack("{s:o, s:i, s:I, s:s}", "deciding",
			 process_make_command(environment->deciding, environment->deciding_len), "count",
			 (int)environment->variable_count, "bytes", (json_int_t)environment->bytes, "sha256",
			 environment->sha256);
}

bool details_add_execution(json_t *object, const struct call *asked)
{
	const struct exec_asked *executed = details_get_executed(asked);

	if (!executed)
		return true;
	return json_object_set_new(object, "execute", process_make_command(executed->argv, executed->argv_len)) == 0 &&
	       json_object_set_new(object, "cwd",
				   executed->cwd[0] ? report_make_text_json(executed->cwd) : json_null()) == 0 &&
	       json_object_set_new(object, "environment", details_make_environment(&executed->environment)) == 0;
}

/* The words that may be answered: "once", "no" … */
static json_t *details_make_answers(const struct details_options *options)
{
	struct shown_lines answers = SHOWN_LINES_INIT;

	if (!options->cannot_be_once)
		shown_add(&answers, "once");
	if (options->can_hold_for_run)
		shown_add(&answers, "run");
	if (options->can_hold_for_run && options->can_be_remembered)
		shown_add(&answers, "remember");
	shown_add(&answers, "no");
	shown_add(&answers, "stop");
	return shown_take(&answers);
}

bool details_add_policy(json_t *object, const struct details_options *options)
{
	return json_object_set_new(object, "type", json_string("question")) == 0 &&
	       json_object_set_new(object, "policy", report_make_text_json(options->policy_name)) == 0 &&
	       json_object_set_new(object, "policy_sha256", json_string(options->policy_sha256)) == 0 &&
	       json_object_set_new(object, "answers", details_make_answers(options)) == 0;
}

struct asking_process details_get_process(const struct call *denied)
{
	return (struct asking_process){denied->sandbox->tree, denied->task->tgid, denied->task->ppid, denied->task->exe,
				       false};
}

bool details_add(json_t *object, const struct details_options *options, const struct call *denied,
		 const struct call *asked)
{
	const struct asking_process process = details_get_process(denied);
	const char *opening = details_describe_opening(denied, asked);
	const json_t *args = json_object_get(object, "args");

	return details_add_policy(object, options) && process_add_members(object, &process) &&
	       details_add_execution(object, asked) &&
	       json_object_set_new(object, "rule_to_add", details_make_rule(denied, asked)) == 0 &&
	       json_object_set_new(object, "rule_would_open", json_string(opening)) == 0 &&
	       json_object_set_new(object, "shown", details_make_lines(denied, asked, args, &process)) == 0;
}
