#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "view/meminfo.h"
#include "tests/unit/unit.h"

static const char machine[] = "MemTotal:       24684096 kB\n"
			      "MemFree:        22258292 kB\n"
			      "MemAvailable:   23800996 kB\n"
			      "Cached:          1309048 kB\n"
			      "SwapCached:           12 kB\n"
			      "Active:          1185892 kB\n"
			      "HugePages_Total:       0\n"
			      "odd line\n"
			      "SwapTotal:       1000000 kB";

START_TEST(limits)
{
	char out[1024];

	ck_assert_int_eq(meminfo_write_limited(machine, 64 << 20, 4 << 20, out, sizeof(out)), 0);
	ck_assert_str_eq(out, "MemTotal:          65536 kB\n"
			      "MemFree:           61440 kB\n"
			      "MemAvailable:      61440 kB\n"
			      "Cached:                0 kB\n"
			      "SwapCached:            0 kB\n"
			      "Active:          1185892 kB\n"
			      "HugePages_Total:       0\n"
			      "odd line\n"
			      "SwapTotal:             0 kB\n");
}
END_TEST

START_TEST(edges)
{
	char out[64];

	ck_assert_int_eq(meminfo_write_limited("MemFree: 1 kB\n", 1 << 20, 2 << 20, out, sizeof(out)), 0);
	ck_assert_str_eq(out, "MemFree:               0 kB\n");
	ck_assert_int_eq(meminfo_write_limited(machine, 1 << 20, 0, out, sizeof(out)), -EMSGSIZE);
	ck_assert_int_eq(meminfo_write_limited("", 1 << 20, 0, out, sizeof(out)), 0);
	ck_assert_str_eq(out, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("meminfo");
	TCase *tcase = tcase_create("text");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, limits);
	tcase_add_test(tcase, edges);
	return unit_run(suite);
}
