/*
 * The filter's decisions for made-up arguments, in an interpreter; and a comparison with libseccomp's filter of the
 * same table, for runs with different traits.
 */
#include <check.h>
#include <linux/audit.h>

#include "tests/unit/confine/bpf-run.h"
#include "tests/unit/confine/filter-rig.h"
#include "tests/unit/sanitized.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* The traits of the runs whose filters are looked at. */
static const unsigned numbers_of[] = {0,
				      RUN_OWN_TERMINALS,
				      RUN_KERNEL_READS | RUN_NATIVE_FSTAT,
				      RUN_OWN_IPC,
				      RUN_SAMPLES_MEMORY,
				      RUN_HAS_TCP | RUN_HAS_UDP | RUN_JUDGES_MESSAGES,
				      RUN_NATIVE_NETLINK | RUN_SAMPLES_MEMORY | RUN_HAS_TCP,
				      RUN_SETS_AFFINITY | RUN_RESTARTS_CALLS,
				      RUN_LIMITS_TASKS | RUN_LIMITS_DISK,
				      RUN_HAS_UNIX_DATAGRAMS | RUN_JUDGES_MESSAGES};
static const unsigned arguments_of[] = {0,
					RUN_OWN_TERMINALS,
					RUN_NATIVE_FSTAT,
					RUN_KERNEL_READS | RUN_NATIVE_FSTAT,
					RUN_SAMPLES_MEMORY,
					RUN_HAS_TCP | RUN_HAS_UDP | RUN_JUDGES_MESSAGES,
					RUN_HAS_TCP | RUN_SHARED_NETNS,
					RUN_NATIVE_NETLINK | RUN_SAMPLES_MEMORY | RUN_HAS_TCP,
					RUN_HAS_STANDIN_SOCKETS,
					RUN_HAS_UNIX_DATAGRAMS | RUN_JUDGES_MESSAGES};
static const unsigned size_of[] = {0, RUN_OWN_TERMINALS, RUN_KERNEL_READS | RUN_NATIVE_FSTAT, RUN_OWN_IPC};

START_TEST(every_number_gets_the_verdict_of_its_row)
{
	static const uint64_t none[6];

	filter_rig_build(numbers_of[_i]);
	for (uint32_t nr = 0; nr < 1024; nr++)
		ck_assert_msg(filter_rig_judge(arch_get_audit_arch(), nr, none) == filter_rig_expect(nr, none),
			      "number %u", nr);
	ck_assert_uint_eq(filter_rig_judge(arch_get_audit_arch(), UINT32_MAX, none), NOTIFIED);
	ck_assert_uint_eq(filter_rig_judge(arch_get_audit_arch(), 0x7fffffff, none), NOTIFIED);
	filter_rig_drop();
}
END_TEST

START_TEST(foreign_architectures_are_notified)
{
	static const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64,
					   AUDIT_ARCH_MIPS64, 0, UINT32_MAX};

	filter_rig_build(0);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		for (uint32_t nr = 0; nr < 1024 && foreign[i] != arch_get_audit_arch(); nr++)
			ck_assert_uint_eq(filter_rig_judge(foreign[i], nr, NULL), NOTIFIED);
	filter_rig_drop();
}
END_TEST

START_TEST(x32_numbers_are_notified)
{
	filter_rig_build(0);
	for (uint32_t nr = 0; nr < 1024; nr++) {
		ck_assert_uint_eq(filter_rig_judge(arch_get_audit_arch(), 0x40000000 | nr, NULL), NOTIFIED);
		ck_assert_uint_eq(filter_rig_judge(arch_get_audit_arch(), 0x80000000 | nr, NULL), NOTIFIED);
	}
	filter_rig_drop();
}
END_TEST

/* The value that a list of terms compares this argument with, by the seed. */
static void pick_value(const struct row_term *term, unsigned arg, unsigned seed, unsigned *n, uint64_t *value)
{
	for (; term && term->compare_count; term++)
		for (unsigned i = 0; i < term->compare_count; i++)
			if (term->compare[i].arg == arg && (*n)++ % 7 == seed % 7)
				*value = term->compare[i].value;
}

/* Arguments near the terms' values: with one bit flipped in the low and the high word. */
static uint64_t near_value(const struct syscall_row *row, unsigned arg, unsigned seed)
{
	uint64_t value = 0;
	unsigned n = 0;

	pick_value(row->allowed_if, arg, seed, &n, &value);
	for (const struct row_more_terms *more = row->more_terms; more && more->terms; more++)
		pick_value(more->terms, arg, seed, &n, &value);
	switch (seed / 7 % 4) {
	case 1:
		return value ^ 1ULL << seed / 28 % 64;
	case 2:
		return value | HIGH;
	case 3:
		return ~value;
	default:
		return value;
	}
}

START_TEST(arguments_are_compared_as_the_terms_say)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	filter_rig_build(arguments_of[_i]);
	for (size_t i = 0; i < count; i++) {
		if ((rows[i].class != ROW_FILTER && !rows[i].more_terms) || rows[i].nr < 0)
			continue;
		for (unsigned seed = 0; seed < (SANITIZED ? 2000 : (unsigned)few_of(20000)); seed++) {
			uint32_t nr = (uint32_t)rows[i].nr;
			uint64_t arg[6];

			for (unsigned j = 0; j < 6; j++)
				arg[j] = near_value(&rows[i], j, seed * (j * 2 + 1) + seed / 1792);
			if (filter_rig_judge(arch_get_audit_arch(), nr, arg) != filter_rig_expect(nr, arg))
				ck_abort_msg("%s: %#llx %#llx", rows[i].name, (unsigned long long)arg[0],
					     (unsigned long long)arg[1]);
		}
	}
	filter_rig_drop();
}
END_TEST

/* Linux caches numbers that are always allowed (5.11): this bounds the cost of the others. */
START_TEST(the_program_stays_small)
{
	filter_rig_build(size_of[_i]);
	ck_assert_uint_lt(filter_rig.program.len, 736); /* 1,000 before it is shortened */
	for (uint32_t nr = 0; nr < 512; nr++) {
		struct seccomp_data data = {.arch = arch_get_audit_arch(), .nr = (int)nr};
		unsigned steps;

		(void)bpf_run(&filter_rig.program, &data, &steps);
		ck_assert_msg(steps <= 130, "number %u: %u steps", nr, steps);
	}
	filter_rig_drop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("filter");
	TCase *tcase = tcase_create("filter");

	tcase_set_timeout(tcase, 120); /* for a busy machine */
	tcase_add_loop_test(tcase, every_number_gets_the_verdict_of_its_row, 0, COUNT(numbers_of));
	tcase_add_test(tcase, foreign_architectures_are_notified);
	tcase_add_test(tcase, x32_numbers_are_notified);
	tcase_add_loop_test(tcase, arguments_are_compared_as_the_terms_say, 0, COUNT(arguments_of));
	tcase_add_loop_test(tcase, the_program_stays_small, 0, COUNT(size_of));
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
