/* Counts by name, histograms of durations, times of records. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/histogram.h"
#include "cli/audit/tally.h"
#include "cli/audit/time.h"
#include "tests/unit/unit.h"

START_TEST(test_names_are_counted)
{
	struct tally tally = {0};
	struct tally_item **sorted;
	char name[16];

	ck_assert_ptr_null(tally_find_item(&tally, "a", 1));
	for (int i = 0; i < 30000; i++) {
		int len = snprintf(name, sizeof(name), "n%d", i % 1000);

		tally_find_or_add_item(&tally, name, (size_t)len)->counts[0] += i % 1000 == 7 ? 5 : 1;
	}
	tally_find_or_add_item(&tally, "n\0x", 3)->counts[0] = 1; /* a NUL is part of a name */
	ck_assert_uint_eq(tally.item_count, 1001);
	ck_assert_uint_eq(tally_find_item(&tally, "n7", 2)->counts[0], 150);
	ck_assert_uint_eq(tally_find_item(&tally, "n999", 4)->counts[0], 30);
	ck_assert_ptr_null(tally_find_item(&tally, "n1000", 5));
	sorted = tally_sort_items_by_count(&tally, 0);
	ck_assert_str_eq(sorted[0]->name, "n7");
	ck_assert_str_eq(sorted[1]->name, "n0"); /* equal counts: by name */
	ck_assert_uint_eq(sorted[1000]->len, 3);
	free(sorted);
	sorted = tally_sort_items_by_count(&tally, TALLY_COUNTS_PER_ITEM);
	ck_assert_uint_eq(sorted[0]->len, 3);
	free(sorted);
	tally_release(&tally);
}
END_TEST

START_TEST(test_memory_is_bounded)
{
	struct tally tally = {0};
	char name[32];

	for (unsigned i = 0; i < TALLY_ITEMS_MAX + 500; i++) {
		int len = snprintf(name, sizeof(name), "%u", i);

		tally_find_or_add_item(&tally, name, (size_t)len)->counts[0]++;
	}
	ck_assert_uint_eq(tally.item_count, TALLY_ITEMS_MAX + 1);
	ck_assert_ptr_nonnull(tally.item_of_all_other_names);
	ck_assert_uint_eq(tally.item_of_all_other_names->counts[0], 500);
	ck_assert_str_eq(tally.item_of_all_other_names->name, TALLY_OTHERS_NAME);
	ck_assert_uint_eq(tally_find_or_add_item(&tally, "17", 2)->counts[0], 1);
	tally_release(&tally);
}
END_TEST

static int compare_numbers(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

START_TEST(test_percentiles)
{
	static uint64_t values[10000];
	static const unsigned permille[] = {1, 100, 500, 900, 990, 999, 1000};
	struct histogram *histogram = calloc(1, sizeof(*histogram));

	ck_assert_uint_eq(histogram_get_percentile(histogram, 500), 0);
	srandom(1);
	for (size_t i = 0; i < 10000; i++) {
		values[i] = (uint64_t)random() >> random() % 31;
		histogram_add(histogram, values[i]);
	}
	qsort(values, 10000, sizeof(values[0]), compare_numbers);
	ck_assert_uint_eq(histogram->max, values[9999]);
	for (size_t i = 0; i < sizeof(permille) / sizeof(permille[0]); i++) {
		uint64_t exact = values[permille[i] * 10 - 1], got = histogram_get_percentile(histogram, permille[i]);

		ck_assert_uint_ge(got, exact);
		ck_assert_uint_le(got, exact + exact / HISTOGRAM_BUCKETS_PER_POWER_OF_2);
	}
	free(histogram);
}
END_TEST

START_TEST(test_large_durations)
{
	struct histogram *histogram = calloc(1, sizeof(*histogram));

	for (unsigned bit = 0; bit < 64; bit++) {
		histogram_add(histogram, UINT64_C(1) << bit);
		histogram_add(histogram, (UINT64_C(1) << bit) - 1);
	}
	histogram_add(histogram, UINT64_MAX);
	ck_assert_uint_eq(histogram->count, 129);
	ck_assert_uint_eq(histogram_get_percentile(histogram, 1000), UINT64_MAX);
	ck_assert_uint_eq(histogram_get_percentile(histogram, 0), 0);
	free(histogram);
}
END_TEST

START_TEST(test_times)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{"1970-01-01T00:00:00.000000001Z", 1},
		{"2026-11-21T02:28:18.308036806Z", UINT64_C(1795228098308036806)},
		{"2000-02-29T23:59:59.999999999Z", UINT64_C(951868799999999999)},
		{"2100-03-01T00:00:00.000000000Z", UINT64_C(4107542400000000000)},
		{"2026-11-21T02:28:18.308036806", 0},
		{"2026-11-21T02:28:18Z", 0},
		{"2026-13-21T02:28:18.308036806Z", 0},
		{"2026-11-00T02:28:18.308036806Z", 0},
		{"2026-11-21 02:28:18.308036806Z", 0},
		{"202x-11-21T02:28:18.308036806Z", 0},
		{"9999-11-21T02:28:18.308036806Z", 0},
		{"", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_uint_eq(audit_parse_time(cases[i].text, strlen(cases[i].text)), cases[i].ns);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tally");
	TCase *tcase = tcase_create("tally");

	tcase_add_test(tcase, test_names_are_counted);
	tcase_add_test(tcase, test_memory_is_bounded);
	tcase_add_test(tcase, test_percentiles);
	tcase_add_test(tcase, test_large_durations);
	tcase_add_test(tcase, test_times);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
