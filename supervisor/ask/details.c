#include "supervisor/ask/details.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "approval/show.h"
#include "base/cleanup.h"
#include "policy/paths/below.h"
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

/* The rule that would permit the call; null: a rule denies it, and no grant beats that. */
static json_t *details_make_rule(const struct call *denied, const struct call *asked)
{
	json_t *paths;

	if (details_is_denied_by_rule(denied))
		return json_null();
	if (asked->net.host[0])
		return endpoint_make_rule(asked);
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

/* Adds the line "name: text" to what a person is shown. */
static void details_add_line(json_t *lines, const char *name, const char *text)
{
	(void)json_array_append_new(lines, json_sprintf("%s: %s", name, text));
}

/* What an exec was asked to run; NULL: the call is none. */
static const struct exec_asked *details_get_executed(const struct call *asked)
{
	return asked->outcome.exec_plan ? asked->outcome.exec_plan->asked : NULL;
}

/* Adds a line for each argument of an exec whose arguments are too long for one line, of which none is left out. */
static void details_add_arguments(json_t *lines, const struct exec_asked *executed)
{
	unsigned count = 0;

	if (!executed || executed->argv_len <= ARGUMENTS_OF_LINE_BYTES_MAX)
		return;
	for (size_t at = 0; at < executed->argv_len; at += strlen(executed->argv + at) + 1, count++)
		if (count < ARGUMENT_LINES_MAX)
			shown_add_text(lines, "argument", executed->argv + at);
	if (count > ARGUMENT_LINES_MAX)
		(void)json_array_append_new(lines, json_sprintf("arguments that are not shown: %u",
								count - ARGUMENT_LINES_MAX));
}

/* Adds a line for each variable that may change which code an exec runs, and how many others there are. */
static void details_add_environment(json_t *lines, const struct exec_environment *environment)
{
	for (size_t at = 0; at < environment->deciding_len; at += strlen(environment->deciding + at) + 1)
		shown_add_text(lines, "with variable", environment->deciding + at);
	(void)json_array_append_new(lines, json_sprintf("other variables: %u",
							environment->variable_count - environment->deciding_count));
}

/* Adds, of an exec, the arguments and what may be different when it happens. Nothing for other calls. */
static void details_add_exec_lines(json_t *lines, const struct call *asked)
{
	const struct exec_asked *executed = details_get_executed(asked);
	const struct place *place = asked->resolved_place;
	bool may_change = false;
	char shown[SHOW_BYTES_MAX];

	if (!(asked->decision.wanted_rights & POLICY_EXEC))
		return;
	show_text(shown, asked->text_arg, asked->text_arg_len);
	details_add_line(lines, "with arguments", shown);
	details_add_arguments(lines, executed);
	if (executed && executed->cwd[0])
		shown_add_text(lines, "in directory", executed->cwd);
	if (executed)
		details_add_environment(lines, &executed->environment);
	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		may_change = may_change || (place[i].mount && policy_may_write(asked->sandbox->policy, place[i].virt));
	if (may_change)
		details_add_line(lines, "note", "the program can change that file, also after an answer");
}

void details_add_rule_line(json_t *lines, json_t *rule)
{
	char *text = json_is_object(rule) ? json_dumps(rule, JSON_ENSURE_ASCII) : NULL;

	if (text && strlen(text) <= RULE_LINE_BYTES_MAX)
		details_add_line(lines, "rule for this", text);
	free(text);
	json_decref(rule);
}

/* Adds what a call that writes would write besides a file's contents: a mode, the target of a link, a name … */
static void details_add_written_values(json_t *lines, const struct call *asked, const json_t *args)
{
	json_t *values = json_copy((json_t *)(uintptr_t)args);
	char *text;

	(void)json_object_del(values, "flags");
	text = json_object_size(values) > 0 && asked->decision.wanted_rights & POLICY_WRITE && !asked->net.host[0]
		       ? json_dumps(values, JSON_ENSURE_ASCII)
		       : NULL;
	if (text && strlen(text) <= VALUES_LINE_BYTES_MAX)
		details_add_line(lines, "with", text);
	else if (text)
		shown_add_text(lines, "with", text);
	free(text);
	json_decref(values);
}

/* What a call wants to do, as people are told. */
static const char *details_describe_right(const struct call *asked)
{
	const unsigned rights = asked->decision.wanted_rights;

	if (asked->net.host[0])
		return endpoint_is_of_datagrams(asked) ? "send datagrams" : "connect";
	return rights & POLICY_EXEC ? "execute" : rights & POLICY_WRITE ? "write" : "read";
}

bool details_show_scope(const struct call *asked)
{
	const struct exec_asked *executed = details_get_executed(asked);
	const struct exec_environment *environment = executed ? &executed->environment : NULL;

	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		if (asked->resolved_place[i].mount && !shown_is_whole(asked->resolved_place[i].virt))
			return false;
	for (size_t at = 0; environment && at < environment->deciding_len; at += strlen(environment->deciding + at) + 1)
		if (!shown_is_whole(environment->deciding + at))
			return false;
	return true;
}

/* The lines by which people decide: printable ASCII, the program's text always within quotation marks. */
static json_t *details_make_lines(const struct call *denied, const struct call *asked, const json_t *args,
				  const struct asking_process *process)
{
	json_t *lines = json_array();

	process_add_lines(lines, process);
	details_add_line(lines, "wants to", details_describe_right(asked));
	for (size_t i = 0; i < sizeof(asked->resolved_place) / sizeof(asked->resolved_place[0]); i++)
		if (asked->resolved_place[i].mount)
			shown_add_text(lines, "path", asked->resolved_place[i].virt);
	details_add_exec_lines(lines, asked);
	details_add_written_values(lines, asked, args);
	if (asked->net.host[0])
		endpoint_add_lines(lines, asked);
	details_add_line(lines, "call", asked->row->name);
	details_add_rule_line(lines, details_make_rule(denied, asked));
	details_add_line(lines, "a rule for this would open", details_describe_opening(denied, asked));
	return lines;
}

/* The member "environment" of a question about an exec. */
static json_t *details_make_environment(const struct exec_environment *environment)
{
	return json_pack("{s:o, s:i, s:I, s:s}", "deciding",
			 process_make_command(environment->deciding, environment->deciding_len), "count",
			 (int)environment->variable_count, "bytes", (json_int_t)environment->bytes, "sha256",
			 environment->sha256);
}

void details_add_execution(json_t *object, const struct call *asked)
{
	const struct exec_asked *executed = details_get_executed(asked);

	if (!executed)
		return;
	(void)json_object_set_new(object, "execute", process_make_command(executed->argv, executed->argv_len));
	(void)json_object_set_new(object, "cwd", executed->cwd[0] ? report_make_text_json(executed->cwd) : json_null());
	(void)json_object_set_new(object, "environment", details_make_environment(&executed->environment));
}

/* The words that may be answered: "once", "no" … */
static json_t *details_make_answers(const struct details_options *options)
{
	json_t *answers = json_array();

	if (!options->cannot_be_once)
		(void)json_array_append_new(answers, json_string("once"));
	if (options->can_hold_for_run)
		(void)json_array_append_new(answers, json_string("run"));
	if (options->can_hold_for_run && options->can_be_remembered)
		(void)json_array_append_new(answers, json_string("remember"));
	(void)json_array_append_new(answers, json_string("no"));
	(void)json_array_append_new(answers, json_string("stop"));
	return answers;
}

void details_add_policy(json_t *object, const struct details_options *options)
{
	(void)json_object_set_new(object, "type", json_string("question"));
	(void)json_object_set_new(object, "policy", report_make_text_json(options->policy_name));
	(void)json_object_set_new(object, "policy_sha256", json_string(options->policy_sha256));
	(void)json_object_set_new(object, "answers", details_make_answers(options));
}

struct asking_process details_get_process(const struct call *denied)
{
	return (struct asking_process){denied->sandbox->tree, denied->task->tgid, denied->task->ppid, denied->task->exe,
				       false};
}

void details_add(json_t *object, const struct details_options *options, const struct call *denied,
		 const struct call *asked)
{
	const struct asking_process process = details_get_process(denied);

	details_add_policy(object, options);
	process_add_members(object, &process);
	details_add_execution(object, asked);
	(void)json_object_set_new(object, "rule_to_add", details_make_rule(denied, asked));
	(void)json_object_set_new(object, "rule_would_open", json_string(details_describe_opening(denied, asked)));
	(void)json_object_set_new(object, "shown",
				  details_make_lines(denied, asked, json_object_get(object, "args"), &process));
}
