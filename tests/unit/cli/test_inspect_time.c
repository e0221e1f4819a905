/* How long programs are looked at: when the time is over, that is told once, and no further parser is started. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "cli/cli.h"
#include "cli/host/program.h"
#include "cli/inspect/inspect.h"
#include "cli/inspect/program.h"
#include "supervisor/report.h"
#include "tests/unit/unit.h"

static unsigned looked;   /* how often a parser was started */
static bool uses_up_time; /* the first parser takes all of it */
static struct inspect_program inspection;

/* In the place of cli/inspect/look.c: a parser that finds nothing. */
int inspect_look_at_file(const char *path, enum inspect_type type, const struct cli_list *allowed,
			 struct inspect_findings *findings, enum inspect_type *ret_type)
{
	(void)path;
	(void)allowed;
	(void)findings;
	*ret_type = type;
	looked++;
	if (uses_up_time)
		inspection.end_ns = io_read_clock_ns();
	return 0;
}

/* In the place of others that need more than is of note here. */
int program_read_script_line(const char *path, char ret_line[SCRIPT_FIRST_LINE_BYTES_MAX + 1])
{
	(void)path;
	(void)ret_line;
	return 0;
}

json_t *inspect_make_finding_json(const struct inspect_finding *finding)
{
	return json_pack("{s:s}", "what", finding->what);
}

json_t *report_make_text_json(const char *text)
{
	return json_string(text);
}

void cli_print_error(const char *verb, const char *format, ...)
{
	ck_abort_msg("%s: %s", verb, format);
}

/* Three files that differ. */
static char *find_file(void *data, const char *name, bool is_program, char **ret_name)
{
	const char *path = strcmp(name, "node") == 0     ? "/proc/self/exe"
			   : strcmp(name, "./a.js") == 0 ? "/etc/passwd"
							 : "/etc/group";

	(void)data;
	(void)is_program;
	if (ret_name)
		*ret_name = strdup(name);
	return strdup(path);
}

/* Looks at a program with three files. The number of findings. */
static size_t look(bool wants_refusal)
{
	char *argv[] = {"node", "--import", "./a.js", "b.js", NULL};
	size_t count;

	looked = 0;
	inspection = (struct inspect_program){.verb = "run",
					      .source = "command line",
					      .argv = argv,
					      .warned = INSPECT_BIT(INSPECT_NOT_LOOKED_AT),
					      .refused = wants_refusal ? INSPECT_BIT(INSPECT_NOT_LOOKED_AT) : 0,
					      .is_quiet = true,
					      .findings = json_array(),
					      .find_file = find_file};
	ck_assert_int_eq(inspect_program_look(&inspection), 0);
	count = json_array_size(inspection.findings);
	ck_assert_int_eq(inspection.why != NULL, wants_refusal && count > 0);
	inspect_program_release(&inspection);
	return count;
}

START_TEST(enough)
{
	uses_up_time = false;
	ck_assert_uint_eq(look(true), 0);
	ck_assert_uint_eq(looked, 3);
}
END_TEST

START_TEST(over)
{
	uses_up_time = true;
	ck_assert_uint_eq(look(false), 1);
	ck_assert_uint_eq(looked, 1);
	ck_assert_uint_eq(look(true), 1);
	ck_assert_uint_eq(looked, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inspect_time");
	TCase *all = tcase_create("all");

	tcase_add_test(all, enough);
	tcase_add_test(all, over);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
