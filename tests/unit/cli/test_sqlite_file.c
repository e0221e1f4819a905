/* The database file of exports: encoded numbers and rows, and the page that SQLite locks and never uses. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/export/sqlite-file.h"
#include "tests/unit/unit.h"

START_TEST(test_numbers)
{
	static const struct {
		uint64_t value;
		const char *bytes;
		size_t len;
	} cases[] = {
		{0, "\x00", 1},
		{0x7f, "\x7f", 1},
		{0x80, "\x81\x00", 2},
		{0x3fff, "\xff\x7f", 2},
		{0x4000, "\x81\x80\x00", 3},
		{UINT64_C(0xffffffffffffff), "\xff\xff\xff\xff\xff\xff\xff\x7f", 8},
		{UINT64_C(0x100000000000000), "\x80\xc0\x80\x80\x80\x80\x80\x80\x00", 9},
		{UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9},
	};
	uint8_t got[SQLITE_VARINT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_uint_eq(sqlite_put_varint(got, cases[i].value), cases[i].len);
		ck_assert_mem_eq(got, cases[i].bytes, cases[i].len);
	}
}
END_TEST

START_TEST(test_row)
{
	const struct sqlite_value values[] = {
		{.type = SQLITE_NULL},
		{.type = SQLITE_INTEGER, .integer = 0},
		{.type = SQLITE_INTEGER, .integer = 1},
		{.type = SQLITE_INTEGER, .integer = -1},
		{.type = SQLITE_INTEGER, .integer = 0x8000},
		{.type = SQLITE_INTEGER, .integer = INT64_MIN},
		{.type = SQLITE_REAL, .real = 1.5},
		{.type = SQLITE_TEXT, .text = "ab", .len = 2},
		{.type = SQLITE_TEXT, .text = "", .len = 0},
	};
	static const char wanted[] = "\x0a\x00\x08\x09\x01\x03\x06\x07\x11\x0d"
				     "\xff\x00\x80\x00\x80\x00\x00\x00\x00\x00\x00\x00"
				     "\x3f\xf8\x00\x00\x00\x00\x00\x00"
				     "ab";
	struct sqlite_row row = {NULL, 0};

	ck_assert_int_eq(sqlite_encode_row(&row, values, sizeof(values) / sizeof(values[0])), sizeof(wanted) - 1);
	ck_assert_mem_eq(row.bytes, wanted, sizeof(wanted) - 1);
	free(row.bytes);
}
END_TEST

/* A file that is not kept, but for the first bytes of the pages around the lock page. */
struct written {
	uint64_t at;
	uint8_t before[SQLITE_PAGE_BYTES], locked[SQLITE_PAGE_BYTES];
};

static ssize_t written_add(void *cookie, const char *bytes, size_t len)
{
	struct written *written = cookie;
	const uint64_t before = (uint64_t)(SQLITE_LOCK_PAGE - 2) * SQLITE_PAGE_BYTES;

	for (size_t i = 0; i < len && written->at + len > before; i++) {
		uint64_t at = written->at + i;

		if (at >= before && at < before + SQLITE_PAGE_BYTES)
			written->before[at - before] = (uint8_t)bytes[i];
		else if (at >= before + SQLITE_PAGE_BYTES && at < before + 2 * (uint64_t)SQLITE_PAGE_BYTES)
			written->locked[at - before - SQLITE_PAGE_BYTES] = (uint8_t)bytes[i];
	}
	written->at += len;
	return (ssize_t)len;
}

START_TEST(test_lock_page_is_not_used)
{
	static const uint8_t none[SQLITE_PAGE_BYTES];
	struct written *written = calloc(1, sizeof(*written));
	struct sqlite_file *file = calloc(1, sizeof(*file));
	const size_t len = 1000000;
	char *text = malloc(len);
	const struct sqlite_value value = {.type = SQLITE_TEXT, .text = text, .len = len};
	FILE *out = fopencookie(written, "w", (cookie_io_functions_t){.write = written_add});

	memset(written->locked, 0xee, sizeof(written->locked));
	memset(text, 'x', len);
	(void)setvbuf(out, NULL, _IOFBF, SQLITE_PAGE_BYTES);
	sqlite_file_begin(file, out);
	sqlite_table_begin(file);
	while (file->page_count < SQLITE_LOCK_PAGE + 10)
		ck_assert_int_eq(sqlite_table_add(file, &value, 1), 0);
	(void)fflush(out);
	ck_assert_mem_eq(written->locked, none, sizeof(none));
	/* The page before is of a row that goes on behind the lock page. */
	ck_assert_uint_eq((uint32_t)written->before[1] << 16 | (uint32_t)written->before[2] << 8 | written->before[3],
			  SQLITE_LOCK_PAGE + 1);
	ck_assert_uint_eq(written->before[4], 'x');
	(void)fclose(out);
	sqlite_file_release(file);
	free(text);
	free(file);
	free(written);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sqlite_file");
	TCase *tcase = tcase_create("sqlite_file");

	tcase_add_test(tcase, test_numbers);
	tcase_add_test(tcase, test_row);
	tcase_add_test(tcase, test_lock_page_is_not_used);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
