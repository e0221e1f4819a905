#include "cli/inspect/judge.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/inspect/inspect.h"
#include "supervisor/report.h"

#define JUDGE_PRINTED_FINDINGS_MAX 20 /* findings that are printed of a file */

/* "FILE:LINE: KIND: WHAT". Owned; NULL: no memory. */
static char *judge_describe_finding(const char *name, const struct inspect_finding *finding)
{
	const char *kind = inspect_kind_get_name(finding->kind);

	return finding->line > 0 ? text_format("%s:%u: %s: %s", name, finding->line, kind, finding->what)
				 : text_format("%s: %s: %s", name, kind, finding->what);
}

static bool judge_has_file(const struct inspect_program *inspection, const char *name)
{
	_cleanup_free_ char *path = name ? inspection->find_file(inspection->data, name, false, NULL) : NULL;

	return path && access(path, F_OK) == 0;
}

/* Whether a module of Python is a file of the program: beside the script, as Python looks for it first. */
static bool judge_has_module(const struct inspect_program *inspection, const char *module, const char *dir)
{
	const int len = (int)strcspn(module, "./");
	_cleanup_free_ char *file = text_format("%s/%.*s.py", dir, len, module),
			    *package = text_format("%s/%.*s/__init__.py", dir, len, module);

	return judge_has_file(inspection, file) || judge_has_file(inspection, package);
}

/* Adds a finding as JSON, unless there are too many. Those that refuse the program have a room of their own. */
static void judge_add_finding(struct inspect_program *inspection, const char *name,
			      const struct inspect_finding *finding)
{
	const bool refuses = INSPECT_BIT(finding->kind) & inspection->refused;
	uint64_t *count = refuses ? &inspection->refused_count : &inspection->warned_count;
	json_t *object;

	if ((*count)++ >= INSPECT_JSON_FINDINGS_MAX)
		return;
	object = inspect_make_finding_json(finding);
	(void)json_object_set_new(object, "file", report_make_text_json(name));
	(void)json_array_append_new(inspection->findings, object);
}

/* Whether findings have one of the same line. */
static bool judge_has_finding(const struct inspect_findings *findings, const struct inspect_finding *finding,
			      unsigned line)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->item[i].line == line && findings->item[i].kind == finding->kind &&
		    strcmp(findings->item[i].what, finding->what) == 0)
			return true;
	return false;
}

/* Adds what was found in code to the findings of the script. Its characters were found with those of the script. */
static int judge_take_findings(struct inspect_program *inspection, const struct inspect_findings *findings)
{
	const uint32_t of_text =
		INSPECT_BIT(INSPECT_SECRET) | INSPECT_BIT(INSPECT_INVISIBLE) | INSPECT_BIT(INSPECT_BIDIRECTIONAL);
	struct inspect_findings *all = inspection->code_findings;
	int r = 0;

	for (enum inspect_kind kind = 0; kind < INSPECT_KIND_MAX; kind++)
		inspect_findings_add_unlisted(all, kind, (uint32_t)findings->unlisted_of_kind[kind]);
	for (size_t i = 0; r == 0 && i < findings->count; i++) {
		const struct inspect_finding *finding = &findings->item[i];

		if (!(INSPECT_BIT(finding->kind) & of_text) &&
		    !judge_has_finding(all, finding, inspection->script_line))
			r = inspect_findings_add(all, finding->kind, inspection->script_line, finding->what);
	}
	return r;
}

int inspect_judge_findings(struct inspect_program *inspection, const char *name, const char *dir,
			   const struct inspect_findings *findings)
{
	const uint32_t warned = inspection->is_of_interpreter ? 0 : inspection->warned & ~inspection->refused;
	uint64_t refused_more = inspect_findings_count_unlisted(findings, inspection->refused);
	uint64_t warned_more = inspect_findings_count_unlisted(findings, warned), more = refused_more + warned_more;
	unsigned printed = 0;

	if (inspection->code_findings)
		return judge_take_findings(inspection, findings);
	for (size_t i = 0; i < findings->count; i++) {
		const uint32_t bit = INSPECT_BIT(findings->item[i].kind);
		_cleanup_free_ char *text = judge_describe_finding(name, &findings->item[i]);

		if (!text)
			return -ENOMEM;
		if (findings->item[i].kind == INSPECT_MODULE &&
		    judge_has_module(inspection, findings->item[i].what, dir))
			continue;
		if (bit & (inspection->refused | warned)) {
			if (inspection->findings)
				judge_add_finding(inspection, name, &findings->item[i]);
			if (printed++ < JUDGE_PRINTED_FINDINGS_MAX && !inspection->is_quiet)
				cli_print_error(inspection->verb, "inspect: %s", text);
		}
		if ((bit & inspection->refused) && !inspection->why)
			inspection->why = steal_pointer(&text);
	}
	inspection->refused_count += inspection->findings ? refused_more : 0;
	inspection->warned_count += inspection->findings ? warned_more : 0;
	more += printed > JUDGE_PRINTED_FINDINGS_MAX ? printed - JUDGE_PRINTED_FINDINGS_MAX : 0;
	if (more > 0 && !inspection->is_quiet)
		cli_print_error(inspection->verb, "inspect: %s: and %llu more", name, (unsigned long long)more);
	return 0;
}

/* Where a command is that is looked at: in which line of a script, or of the command line, which has none. */
static unsigned judge_get_line(const struct inspect_program *inspection)
{
	return inspection->script ? inspection->script_line : 0;
}

/* Judges findings about that command. 0 or -ENOMEM. */
static int judge_told(struct inspect_program *inspection, const struct inspect_findings *findings)
{
	return inspect_judge_findings(inspection, inspection->script ? inspection->script : inspection->source, ".",
				      findings);
}

int inspect_tell(struct inspect_program *inspection, const char *format, ...)
{
	_cleanup_findings_ struct inspect_findings findings = {0};
	_cleanup_free_ char *what = NULL;
	va_list args;
	int len, r;

	va_start(args, format);
	len = vasprintf(&what, format, args);
	va_end(args);
	if (len < 0) {
		what = NULL;
		return -ENOMEM;
	}
	r = inspect_findings_add(&findings, INSPECT_NOT_LOOKED_AT, judge_get_line(inspection), what);
	return r == 0 ? judge_told(inspection, &findings) : r;
}

int inspect_tell_limit(struct inspect_program *inspection, const char *what, unsigned limit)
{
	const bool was_of_interpreter = inspection->is_of_interpreter;
	int r;

	inspection->is_of_interpreter = false; /* it is told once, for all that comes after it, too */
	r = inspect_tell(inspection, "more than %u %s", limit, what);
	inspection->is_of_interpreter = was_of_interpreter;
	return r;
}

int inspect_tell_assignment(struct inspect_program *inspection, const char *assignment)
{
	_cleanup_findings_ struct inspect_findings findings = {0};
	const int r = inspect_findings_add_assignment(&findings, judge_get_line(inspection), assignment, false);

	return r == 0 ? judge_told(inspection, &findings) : r;
}
