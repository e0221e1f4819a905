/* The arguments that restarted execs keep are bounded, over all threads. The target is the test itself. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/trace/private.h"
#include "tests/unit/unit.h"

#define LIMIT ((size_t)64 << 20)
#define WORDS 100000u

static ssize_t read_own(pid_t tid, uint64_t addr, void *out, size_t len)
{
	(void)tid;
	memcpy(out, (const void *)(uintptr_t)addr, len);
	return (ssize_t)len;
}

static const struct memory_ops own = {.read = read_own};
static struct sandbox sandbox = {.target_memory = &own};
static const struct syscall_row row = {.name = "execve", .arg = {{ARG_PATH, "path"}}};
static char shell[] = "/bin/sh", script[] = "/s";
static char *head[] = {shell, script, NULL};
static struct exec_plan plan = {.needs_restart = true, .host_path = shell, .execfn = script, .argv_head = head};
static uint64_t argv[WORDS + 64]; /* reads go up to one step beyond the end */

START_TEST(exec_blobs_end)
{
	static struct trace_blob blob[256];
	struct call *call = calloc(1, sizeof(*call));
	size_t budget = 0, each, kept = 0;
	int r;

	ck_assert_ptr_nonnull(call);
	call->sandbox = &sandbox;
	call->row = &row;
	call->arg[1] = (uint64_t)(uintptr_t)argv;
	for (size_t i = 0; i < WORDS; i++)
		argv[i] = 4711;
	while ((r = blob_build_for_exec(call, &plan, &budget, &blob[kept])) == 0)
		ck_assert_uint_lt(++kept, 256);
	ck_assert_int_eq(r, -E2BIG);
	ck_assert_ptr_null(blob[kept].bytes);
	ck_assert_uint_ge(kept, 2);
	each = blob[0].len;
	ck_assert_uint_gt(each, WORDS * sizeof(uint64_t));
	ck_assert_uint_eq(budget, kept * each);
	ck_assert_uint_gt(budget + each, LIMIT);
	ck_assert_uint_le(budget, LIMIT);
	blob_release(&blob[0]); /* makes room for another one */
	ck_assert_int_eq(blob_build_for_exec(call, &plan, &budget, &blob[0]), 0);
	for (size_t i = 0; i < kept; i++)
		blob_release(&blob[i]);
	ck_assert_uint_eq(budget, 0);
	blob_release(&blob[0]); /* releases nothing */
	ck_assert_uint_eq(budget, 0);
	free(call);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace-blob");
	TCase *tests = tcase_create("trace-blob");

	tcase_add_test(tests, exec_blobs_end);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
