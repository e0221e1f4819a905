/* inspect_look_at_file() */
#include <errno.h>
#include <string.h>

#include "cli/inspect/inspect.h"
#include "cli/inspect/loader.h"
#include "cli/inspect/parser.h"
#include "cli/inspect/text.h"

static int look_at_subject(const struct inspect_subject *subject, const struct cli_list *allowed,
			   struct inspect_findings *findings)
{
	const bool is_elf = subject->type == INSPECT_TYPE_ELF;
	int r;

	if (subject->size > (is_elf ? INSPECT_ELF_BYTES_MAX : INSPECT_TEXT_BYTES_MAX))
		return inspect_findings_add(findings, INSPECT_NOT_PARSED, 0, "too large to be looked at");
	r = inspect_run_parser(subject, allowed, findings);
	if (r == 0 && is_elf)
		r = inspect_judge_loading(subject, findings);
	if (r == 0 && subject->text)
		r = inspect_text_find_characters(subject->text, subject->text_len, findings);
	if (r == 0 && subject->text)
		r = inspect_text_find_secrets(subject->text, subject->text_len, findings);
	return r;
}

int inspect_look_at_file(const char *path, enum inspect_type type, const struct cli_list *allowed,
			 struct inspect_findings *findings, enum inspect_type *ret_type)
{
	_cleanup_subject_ struct inspect_subject subject = {.fd = -1};
	int r = inspect_subject_open(path, type, &subject);

	if (r == 0)
		r = look_at_subject(&subject, allowed, findings);
	if (r == -EINVAL)
		cli_print_error("inspect", "%s: not a regular file", path);
	else if (r < 0 && r != -ECANCELED)
		cli_print_error("inspect", "%s: %s", path, strerror(-r));
	inspect_findings_sort(findings);
	*ret_type = subject.type;
	return r;
}
