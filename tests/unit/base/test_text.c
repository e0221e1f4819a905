#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/unit/unit.h"

struct escape_case {
	const char *bytes, *want;
};

static const struct escape_case escapes[] = {
	{"", ""},
	{"/plain/path", "/plain/path"},
	{"a\"b", "a\\\"b"},
	{"a\\b", "a\\\\\\\\b"},
	{"\n\t\x1b\x7f", "\\n\\t\\u001b\\u007f"},
	{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
	{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	{"\xc2\x85", "\\u0085"},		      /* a C1 control */
	{"\xc2\xa0", "\xc2\xa0"},		      /* the first character after them */
	{"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"}, /* line ends for some readers */
	{"a\xe2\x80\xae" "b", "a\\u202eb"},	     /* right-to-left override; NOLINT(misc-misleading-bidirectional) */
	{"\xf3\xa0\x81\x81", "\\udb40\\udc41"}, /* a tag character, invisible */
	{"\xff", "\\\\xff"},
	{"\x80", "\\\\x80"},
	{"\xc3", "\\\\xc3"},			     /* truncated */
	{"\xc3(", "\\\\xc3("},			     /* no continuation */
	{"\xc0\xaf", "\\\\xc0\\\\xaf"},		     /* an overlong "/" */
	{"\xe0\x80\xaf", "\\\\xe0\\\\x80\\\\xaf"},
	{"\xed\xa0\x80", "\\\\xed\\\\xa0\\\\x80"},    /* a surrogate */
	{"\xf4\x90\x80\x80", "\\\\xf4\\\\x90\\\\x80\\\\x80"}, /* past U+10FFFF */
	{"\\xff", "\\\\\\\\xff"},		     /* text that looks like an escape */
};

START_TEST(test_escape)
{
	const struct escape_case *c = &escapes[_i];
	size_t len = strlen(c->bytes);
	char *out = malloc(len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1);

	out[text_escape_for_json(out, c->bytes, len)] = '\0';
	ck_assert_str_eq(out, c->want);
	free(out);
}
END_TEST

static const struct escape_case shown[] = {
	{"/plain \"path\" \\", "/plain \"path\" \\"},
	{"gr\xc3\xbc\xc3\x9f\xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f\xf0\x9f\x98\x80"},
	{"\x1b[2J\r\n\t\x7f", "\\u001b[2J\\u000d\\u000a\\u0009\\u007f"},
	{"\xc2\x9b" "2J\xc2\xa0", "\\u009b2J\xc2\xa0"},
	/* NOLINTNEXTLINE(misc-misleading-bidirectional) */
	{"a\xe2\x80\xae" "b\xe2\x81\xa6\xd8\x9c", "a\\u202eb\\u2066\\u061c"},
	{"\xc2\xad\xe2\x80\x8b\xef\xbb\xbf\xe3\x85\xa4", "\\u00ad\\u200b\\ufeff\\u3164"},
	{"\xf3\xa0\x81\x81\xff\xe2\x80", "\\udb40\\udc41\\xff\\xe2\\x80"},
};

START_TEST(test_show)
{
	const struct escape_case *c = &shown[_i];
	char *out = malloc(strlen(c->bytes) * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1);

	out[text_escape_for_display(out, c->bytes, strlen(c->bytes), false)] = '\0';
	ck_assert_str_eq(out, c->want);
	out[text_escape_for_display(out, "\n\t", 2, true)] = '\0';
	ck_assert_str_eq(out, "\n\t");
	free(out);
}
END_TEST

START_TEST(test_format_size)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} sizes[] = {{0, "0"},
		     {1023, "1023"},
		     {1024, "1K"},
		     {1536, "1.5K"},
		     {UINT64_C(5) << 20, "5M"},
		     {UINT64_C(1536) << 30, "1.5T"},
		     {UINT64_MAX, "1.678e+07T"}};
	char text[TEXT_SIZE_SIZE];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		text_format_size(sizes[i].bytes, text);
		ck_assert_str_eq(text, sizes[i].text);
	}
}
END_TEST

/* The result does not depend on where the pieces end. */
START_TEST(test_print)
{
	char text[5000], all[sizeof(text) * TEXT_ESCAPED_BYTES_PER_BYTE_MAX], *printed = NULL;
	size_t len, size;
	FILE *out = open_memstream(&printed, &size);

	for (len = (size_t)_i; len + 4 < sizeof(text); len += 4)
		memcpy(text + len, len % 8 < 4 ? "\xf3\xa0\x81\x81" : "\xf0\x9f\x98\x80", 5);
	memset(text, 'x', (size_t)_i);
	ck_assert_int_eq(text_print(out, text, true), 0);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_uint_eq(text_escape_for_display(all, text, strlen(text), true), size);
	ck_assert_mem_eq(all, printed, size);
	free(printed);
}
END_TEST

/* bytes -> escape -> a JSON reader -> unescape gives the bytes back. */
static void round_trip(const char *bytes, size_t len)
{
	char *out = malloc(len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 2);
	json_t *text;
	char *decoded;
	size_t put;

	out[0] = '"';
	put = text_escape_for_json(out + 1, bytes, len);
	ck_assert_uint_le(put, len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX);
	out[put + 1] = '"';
	ck_assert_ptr_null(memchr(out, '\n', put + 2));
	text = json_loadb(out, put + 2, JSON_DECODE_ANY, NULL);
	ck_assert_ptr_nonnull(text);
	put = text_escape_backslashes(out, bytes, len);
	ck_assert_uint_eq(put, json_string_length(text));
	ck_assert_mem_eq(out, json_string_value(text), put);
	decoded = strdup(json_string_value(text));
	put = text_unescape_backslashes(decoded, json_string_length(text));
	ck_assert_mem_eq(decoded, bytes, len);
	ck_assert_uint_eq(put, len);
	free(decoded);
	json_decref(text);
	free(out);
}

START_TEST(test_round_trip)
{
	char bytes[4096];

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
		round_trip(escapes[i].bytes, strlen(escapes[i].bytes));
	for (unsigned int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	round_trip(bytes, 256);
	srandom(1);
	for (int round = 0; round < 200; round++) {
		size_t len = (size_t)random() % sizeof(bytes);

		for (size_t i = 0; i < len; i++) /* more escapes, quotes and partial UTF-8 than random bytes have */
			bytes[i] = random() % 3 ? (char)random() : "\\x0\"\xc3\xe2\x80\xa8"[random() % 8];
		round_trip(bytes, len);
	}
}
END_TEST

START_TEST(test_utf8)
{
	ck_assert(text_is_utf8("", 0));
	ck_assert(text_is_utf8("a\0gr\xc3\xbc\xc3\x9f\xf0\x9f\x98\x80", 12));
	ck_assert(!text_is_utf8("\xc3\xbc", 1));
	ck_assert(!text_is_utf8("a\xff", 2));
	ck_assert(!text_is_utf8("\xed\xa0\x80", 3));
}
END_TEST

START_TEST(test_shorten)
{
	char text[201], *copy = text_copy_shortened("short", 64);

	ck_assert_str_eq(copy, "short");
	free(copy);
	for (size_t i = 0; i < 200; i += 4)
		memcpy(text + i, "\xf0\x9f\x98\x80", 5); /* a character of 4 bytes */
	for (size_t max = 64; max < 200; max++) {
		copy = text_copy_shortened(text, max);
		ck_assert_uint_le(strlen(copy), max);
		ck_assert_uint_gt(strlen(copy), max - 4);
		ck_assert(text_is_utf8(copy, strlen(copy)));
		ck_assert_ptr_nonnull(strstr(copy, "… [200 bytes]"));
		free(copy);
	}
	copy = text_copy_shortened(text, 200);
	ck_assert_str_eq(copy, text);
	free(copy);
}
END_TEST

START_TEST(test_unescape_foreign)
{
	char text[] = "a\\b\\x4\\xg0\\x41\\";
	size_t len = text_unescape_backslashes(text, strlen(text));

	ck_assert_uint_eq(len, strlen("a\\b\\x4\\xg0A\\"));
	ck_assert_mem_eq(text, "a\\b\\x4\\xg0A\\", len);
}
END_TEST

START_TEST(test_size)
{
	static const char *const bad[] = {"",   "K",    "-1",   "+1",	"1k", "1KB", "1.5M", " 1", "1 ",
					  "1KK", "0x10", "18446744073709551616", "16777216T"};
	uint64_t bytes = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(text_parse_size(bad[i], &bytes) == -EINVAL && bytes == 7, "%s", bad[i]);
	ck_assert_int_eq(text_parse_size("123", &bytes), 0);
	ck_assert_uint_eq(bytes, 123);
	ck_assert_int_eq(text_parse_size("64K", &bytes), 0);
	ck_assert_uint_eq(bytes, 65536);
	ck_assert_int_eq(text_parse_size("10M", &bytes), 0);
	ck_assert_uint_eq(bytes, 10 << 20);
	ck_assert_int_eq(text_parse_size("2G", &bytes), 0);
	ck_assert_uint_eq(bytes, UINT64_C(2) << 30);
	ck_assert_int_eq(text_parse_size("18446744073709551615", &bytes), 0);
	ck_assert_uint_eq(bytes, UINT64_MAX);
}
END_TEST

START_TEST(test_duration)
{
	static const char *const bad[] = {"", "s", "1.s", ".5s", "1.1234567s", "1d", "1 s", "-1s", "inf", "6000000h"};
	uint64_t ns = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(text_parse_duration(bad[i], &ns) == -EINVAL && ns == 7, "%s", bad[i]);
	ck_assert_int_eq(text_parse_duration("500ms", &ns), 0);
	ck_assert_uint_eq(ns, 500000000);
	ck_assert_int_eq(text_parse_duration("30", &ns), 0);
	ck_assert_uint_eq(ns, UINT64_C(30000000000));
	ck_assert_int_eq(text_parse_duration("1.5s", &ns), 0);
	ck_assert_uint_eq(ns, 1500000000);
	ck_assert_int_eq(text_parse_duration("2m", &ns), 0);
	ck_assert_uint_eq(ns, UINT64_C(120000000000));
	ck_assert_int_eq(text_parse_duration("1h", &ns), 0);
	ck_assert_uint_eq(ns, UINT64_C(3600000000000));
	ck_assert_int_eq(text_parse_duration("0.000001s", &ns), 0);
	ck_assert_uint_eq(ns, 1000);
}
END_TEST

START_TEST(test_number)
{
	uint64_t value = 7;

	ck_assert_int_eq(text_parse_number("65535", 1, 65535, &value), 0);
	ck_assert_uint_eq(value, 65535);
	ck_assert_int_eq(text_parse_number("65536", 1, 65535, &value), -EINVAL);
	ck_assert_int_eq(text_parse_number("0", 1, 65535, &value), -EINVAL);
	ck_assert_int_eq(text_parse_number("1x", 1, 65535, &value), -EINVAL);
	ck_assert_int_eq(text_parse_number("", 0, 65535, &value), -EINVAL);
	ck_assert_int_eq(text_parse_number("99999999999999999999", 0, UINT64_MAX, &value), -EINVAL);
	ck_assert_uint_eq(value, 65535);
}
END_TEST

START_TEST(test_nearest)
{
	static const char *const words[] = {"filesystem", "exec", "network", "env", "limits", "read", "write", NULL};

	ck_assert_str_eq(text_find_nearest_word("filesytem", words), "filesystem");
	ck_assert_str_eq(text_find_nearest_word("netwrok", words), "network");
	ck_assert_str_eq(text_find_nearest_word("wirte", words), "write");
	ck_assert_str_eq(text_find_nearest_word("limit", words), "limits");
	ck_assert_str_eq(text_find_nearest_word("exec", words), "exec");
	ck_assert_ptr_null(text_find_nearest_word("zebra-crossing", words));
	ck_assert_ptr_null(text_find_nearest_word("", words));
	ck_assert_ptr_null(text_find_nearest_word("zzz", words));
}
END_TEST

START_TEST(test_directory)
{
	static const struct escape_case paths[] = {{"/a/b", "/a"}, {"/a", "/"}, {"/", "/"}, {"a/b", "a"},
						   {"a", "."},     {"", "."},   {"a/", "a"}};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char *directory = text_copy_directory(paths[i].bytes);

		ck_assert_str_eq(directory, paths[i].want);
		free(directory);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("text");
	TCase *tcase = tcase_create("text");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, test_show, 0, (int)(sizeof(shown) / sizeof(shown[0])));
	tcase_add_loop_test(tcase, test_print, 0, 4);
	tcase_add_test(tcase, test_format_size);
	tcase_add_loop_test(tcase, test_escape, 0, sizeof(escapes) / sizeof(escapes[0]));
	tcase_add_test(tcase, test_round_trip);
	tcase_add_test(tcase, test_utf8);
	tcase_add_test(tcase, test_shorten);
	tcase_add_test(tcase, test_unescape_foreign);
	tcase_add_test(tcase, test_size);
	tcase_add_test(tcase, test_duration);
	tcase_add_test(tcase, test_number);
	tcase_add_test(tcase, test_nearest);
	tcase_add_test(tcase, test_directory);
	return unit_run(suite);
}
