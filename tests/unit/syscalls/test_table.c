/* The table is whole: every call either architecture has is a row, and each row has what its class needs. */
#include <check.h>
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "audit/record.h"
#include "syscalls/table/table.h"
#include "tests/unit/row-named.h"
#include "tests/unit/unit.h"

/* Every number of the architecture that libseccomp can name is a row. */
static void check_arch(uint32_t arch, int at_least)
{
	int named = 0;

	for (int nr = 0; nr <= 480; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(arch, nr);

		if (!name)
			continue;
		ck_assert_msg(row_named(name) != NULL, "%s (%d) is not in syscalls.def", name, nr);
		named++;
		free(name);
	}
	ck_assert_int_ge(named, at_least);
}

START_TEST(every_named_call_is_listed)
{
	check_arch(SCMP_ARCH_X86_64, 355);
	check_arch(SCMP_ARCH_AARCH64, 295);
}
END_TEST

static int newest(void)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);
	int nr = 0;

	for (size_t i = 0; i < count; i++)
		nr = rows[i].nr > nr ? rows[i].nr : nr;
	return nr;
}

/* Numbers that were never assigned, and those of newer kernels, are unlisted on purpose: ENOSYS. */
START_TEST(only_unassigned_numbers_are_unlisted)
{
	const int last = newest();

	ck_assert_int_ge(last, 469); /* file_setattr, Linux 6.17 */
	for (int nr = 0; nr <= 511; nr++) {
		bool assigned = nr <= last;

#if defined(__x86_64__)
		if (nr > 336 && nr < 424)
			assigned = false;
#else
		if (table_find_row(nr) == NULL && nr < 424)
			assigned = false; /* its gaps are checked by name above */
#endif
		ck_assert_msg((table_find_row(nr) != NULL) == assigned, "number %d", nr);
	}
}
END_TEST

START_TEST(lookup_finds_each_row_and_nothing_else)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	ck_assert_uint_gt(count, 370);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].nr >= 0)
			ck_assert_ptr_eq(table_find_row(rows[i].nr), &rows[i]);
		ck_assert_ptr_eq(row_named(rows[i].name), &rows[i]);
		ck_assert_uint_eq(rows[i].row_number, i + 1);
	}
	ck_assert_ptr_null(table_find_row(-1));
	ck_assert_ptr_null(table_find_row(512));
	ck_assert_ptr_null(table_find_row(0x40000000));
	ck_assert_ptr_null(table_find_row(0x40000000 + 2));
	ck_assert_ptr_null(table_find_row(2147483647));
}
END_TEST

static void check_terms(const struct syscall_row *row, const struct row_term *terms)
{
	ck_assert_msg(terms != NULL && terms->compare_count > 0, "%s has a list that allows nothing", row->name);
	for (const struct row_term *term = terms; term->compare_count; term++) {
		ck_assert_uint_le(term->compare_count, ROW_COMPARES_MAX);
		for (unsigned i = 0; i < term->compare_count; i++) {
			const struct row_compare *compare = &term->compare[i];

			ck_assert_uint_lt(compare->arg, 6);
			/* "always" stands alone: what such a row says the filter may leave out (filter.h) */
			ck_assert(compare->mask != 0 ||
				  (term == terms && term->compare_count == 1 && term[1].compare_count == 0));
			ck_assert_msg((compare->value & ~compare->mask) == 0, "%s can never match", row->name);
			for (unsigned j = 0; j < i; j++)
				ck_assert_uint_ne(term->compare[j].arg, compare->arg);
		}
	}
}

static void check_all_terms(const struct syscall_row *row)
{
	unsigned more = 0;

	if (row->class == ROW_FILTER)
		check_terms(row, row->allowed_if);
	for (; row->more_terms && row->more_terms[more].terms; more++)
		check_terms(row, row->more_terms[more].terms);
	ck_assert_msg(more <= ROW_MORE_TERMS_MAX, "%s: more terms than a filter's leaf has room for", row->name);
}

START_TEST(each_class_has_what_it_needs)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	for (size_t i = 0; i < count; i++) {
		const struct syscall_row *row = &rows[i];
		bool refused = row->class == ROW_REFUSE || row->class == ROW_NATIVE_IN_OWN_IPC ||
			       row->class == ROW_REFUSE_UNRECORDED || row->class == ROW_FILTER;

		ck_assert_int_lt(row->class, ROW_CLASS_MAX);
		ck_assert_int_lt(row->intent, INTENT_MAX);
		ck_assert_msg(row->class == ROW_FILTER || (!row->judged_with_run_traits && !row->hook), "%s: traits",
			      row->name);
		ck_assert_msg(row->class == ROW_FILTER || row->class == ROW_NOTIFY || !row->more_terms, "%s: traits",
			      row->name);
		ck_assert_msg(!row->hook || row->judged_with_run_traits || row->more_terms,
			      "%s: a hook for what is never notified", row->name);
		ck_assert_msg(!(row->self_roles && row->self_terms), "%s: whatever the registers, and some", row->name);
		ck_assert_msg(!(row->self_roles & SELF_ROLE_OF_NO_PROCESS) ||
				      row->self_roles == SELF_ROLE_OF_NO_PROCESS,
			      "%s: never, and by some", row->name);
		ck_assert_msg((row->error > 0) == refused, "%s: errno", row->name);
		ck_assert_msg((row->allowed_if != NULL) == (row->class == ROW_FILTER), "%s: terms", row->name);
		check_all_terms(row);
		if (row->class == ROW_REFUSE_UNRECORDED)
			ck_assert_str_eq(row->name, "clone3"); /* whatever else is refused is on record */
	}
}
END_TEST

static void check_args(const struct syscall_row *row)
{
	unsigned paths = 0, texts = 0;

	for (unsigned i = 0; i < 6; i++) {
		enum arg_kind kind = row->arg[i].kind;

		ck_assert_int_lt(kind, ARG_KIND_MAX);
		ck_assert_msg((row->arg[i].name != NULL) == (kind != ARG_NONE), "%s: argument %u", row->name, i);
		if (kind == ARG_NONE && i < 5)
			ck_assert_msg(row->arg[i + 1].kind == ARG_NONE, "%s: a gap in the arguments", row->name);
		if (kind == ARG_PATH || kind == ARG_PATH_OR_NULL)
			paths++;
		if (kind == ARG_TEXT)
			texts++;
		if (kind == ARG_DIRFD)
			ck_assert_msg(i < 5 && (row->arg[i + 1].kind == ARG_PATH ||
						row->arg[i + 1].kind == ARG_PATH_OR_NULL),
				      "%s: a dirfd without its path", row->name);
	}
	/* struct call has room for two paths and one text; audit records for AUDIT_ARGS_PER_RECORD_MAX arguments. */
	ck_assert_uint_le(paths, 2);
	ck_assert_uint_le(texts, 1);
	if (row->class == ROW_REFUSE || row->class == ROW_NATIVE_IN_OWN_IPC)
		ck_assert_msg(paths + texts == 0, "%s: memory of a refused call is not worth reading", row->name);
	if (paths + texts)
		ck_assert_msg(row->basis != BASIS_REGS, "%s: a verdict on a copied text may not be continued",
			      row->name);
}

START_TEST(arguments_can_be_decoded_and_recorded)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	ck_assert_int_ge(AUDIT_ARGS_PER_RECORD_MAX, 6);
	for (size_t i = 0; i < count; i++)
		check_args(&rows[i]);
}
END_TEST

/* The classification, for the calls whose class is a promise of the manual. */
START_TEST(classes_are_as_documented)
{
	static const struct {
		const char *name;
		enum row_class class;
		int error;
	} promise[] = {
		{"openat", ROW_NOTIFY, 0},           {"execve", ROW_NOTIFY, 0},
		{"fchmod", ROW_NOTIFY, 0},           {"fsetxattr", ROW_NOTIFY, 0},
		{"fchmodat2", ROW_NOTIFY, 0},        {"kill", ROW_NOTIFY, 0},
		{"connect", ROW_NOTIFY, 0},          {"listen", ROW_NOTIFY, 0},
		{"pidfd_send_signal", ROW_NOTIFY, 0}, {"clone3", ROW_REFUSE_UNRECORDED, ENOSYS},
		{"clone", ROW_FILTER, EPERM},        {"getsockopt", ROW_FILTER, EPERM},
		{"io_uring_setup", ROW_REFUSE, ENOSYS}, {"userfaultfd", ROW_REFUSE, ENOSYS},
		{"memfd_secret", ROW_REFUSE, ENOSYS}, {"process_madvise", ROW_REFUSE, ENOSYS},
		{"open_tree_attr", ROW_REFUSE, ENOSYS}, {"move_mount", ROW_REFUSE, ENOSYS},
		{"keyctl", ROW_REFUSE, ENOSYS},      {"shmget", ROW_NATIVE_IN_OWN_IPC, ENOSYS},
		{"mount", ROW_REFUSE, EPERM},        {"setns", ROW_REFUSE, EPERM},
		{"ptrace", ROW_FILTER, EPERM},       {"pidfd_getfd", ROW_REFUSE, EPERM},
		{"process_vm_writev", ROW_NOTIFY, 0}, {"open_by_handle_at", ROW_REFUSE, EPERM},
		{"name_to_handle_at", ROW_REFUSE, EOPNOTSUPP}, {"bpf", ROW_REFUSE, EPERM},
		{"landlock_create_ruleset", ROW_REFUSE, EOPNOTSUPP}, {"landlock_add_rule", ROW_REFUSE, EOPNOTSUPP},
		{"landlock_restrict_self", ROW_REFUSE, EOPNOTSUPP}, {"pkey_alloc", ROW_REFUSE, ENOSPC},
		{"read", ROW_NATIVE, 0},             {"fchdir", ROW_NATIVE, 0},
	};

	for (size_t i = 0; i < sizeof(promise) / sizeof(promise[0]); i++) {
		const struct syscall_row *row = row_named(promise[i].name);

		ck_assert_msg(row != NULL, "%s", promise[i].name);
		ck_assert_msg(row->class == promise[i].class && row->error == promise[i].error, "%s", promise[i].name);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table");
	TCase *tcase = tcase_create("table");

	tcase_add_test(tcase, every_named_call_is_listed);
	tcase_add_test(tcase, only_unassigned_numbers_are_unlisted);
	tcase_add_test(tcase, lookup_finds_each_row_and_nothing_else);
	tcase_add_test(tcase, each_class_has_what_it_needs);
	tcase_add_test(tcase, arguments_can_be_decoded_and_recorded);
	tcase_add_test(tcase, classes_are_as_documented);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
