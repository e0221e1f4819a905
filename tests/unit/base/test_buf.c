#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tests/unit/unit.h"

START_TEST(test_grow)
{
	_cleanup_buf_ struct buf buf = {0};

	for (int i = 0; i < 10000; i++)
		buf_printf(&buf, "%04d,", i);
	ck_assert(!buf.failed);
	ck_assert_uint_eq(buf.len, 50000);
	ck_assert_uint_eq(strlen(buf.data), 50000);
	ck_assert_mem_eq(buf.data, "0000,0001,", 10);
	ck_assert_mem_eq(buf.data + buf.len - 5, "9999,", 5);
}
END_TEST

START_TEST(test_pieces)
{
	_cleanup_buf_ struct buf buf = {0};

	buf_add(&buf, "", 0);
	ck_assert_str_eq(buf.data, "");
	buf_puts(&buf, "one");
	buf_add(&buf, "\0two", 4);
	buf_printf(&buf, "%s %d", " three", 4);
	ck_assert_uint_eq(buf.len, 15);
	ck_assert_mem_eq(buf.data, "one\0two three 4", 16);
}
END_TEST

START_TEST(test_escaped)
{
	_cleanup_buf_ struct buf buf = {0};

	buf_puts(&buf, "- ");
	buf_put_escaped(&buf, "a\n- b\t\xff\033[2J");
	buf_put_escaped(&buf, "");
	buf_put_escaped(&buf, NULL);
	ck_assert_str_eq(buf.data, "- a\\u000a- b\\u0009\\xff\\u001b[2J?");
}
END_TEST

START_TEST(test_reserve)
{
	_cleanup_buf_ struct buf buf = {0};
	const char *before;

	buf_reserve(&buf, 1000);
	before = buf.data;
	for (int i = 0; i < 100; i++)
		buf_puts(&buf, "ten bytes.");
	ck_assert_ptr_eq(buf.data, before);
	ck_assert_uint_eq(strlen(buf.data), 1000);
	buf_reserve(&buf, 10);
	buf_puts(&buf, "more");
	ck_assert_uint_eq(buf.len, 1004);
	buf_reserve(&buf, SIZE_MAX); /* reserves nothing; buf_add() says what fails */
	ck_assert(!buf.failed);
}
END_TEST

START_TEST(test_take)
{
	_cleanup_buf_ struct buf buf = {0};
	char *text;

	text = buf_take_text(&buf);
	ck_assert_str_eq(text, ""); /* an empty text, not a failure */
	free(text);
	buf_puts(&buf, "text");
	text = buf_take_text(&buf);
	ck_assert_str_eq(text, "text");
	free(text);
	ck_assert_ptr_null(buf.data);
	ck_assert_uint_eq(buf.len, 0);
}
END_TEST

START_TEST(test_drop)
{
	_cleanup_buf_ struct buf buf = {0};

	buf_drop(&buf, 0);
	ck_assert_ptr_null(buf.data);
	buf_puts(&buf, "one two");
	buf_drop(&buf, 4);
	ck_assert_str_eq(buf.data, "two");
	buf_puts(&buf, "!");
	ck_assert_str_eq(buf.data, "two!");
	buf_drop(&buf, 4);
	ck_assert_uint_eq(buf.len, 0);
	buf_puts(&buf, "x");
	ck_assert_str_eq(buf.data, "x");
}
END_TEST

START_TEST(test_failed)
{
	_cleanup_buf_ struct buf buf = {0};

	buf_puts(&buf, "before");
	buf_add(&buf, "x", SIZE_MAX); /* impossible length: fails before any byte is read */
	ck_assert(buf.failed);
	buf_puts(&buf, "after");
	buf_printf(&buf, "%d", 1);
	ck_assert_str_eq(buf.data, "before");
	ck_assert_ptr_null(buf_take_text(&buf));
	ck_assert(!buf.failed);
	buf_puts(&buf, "again");
	ck_assert_str_eq(buf.data, "again");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("buf");
	TCase *tcase = tcase_create("buf");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, test_grow);
	tcase_add_test(tcase, test_pieces);
	tcase_add_test(tcase, test_reserve);
	tcase_add_test(tcase, test_escaped);
	tcase_add_test(tcase, test_take);
	tcase_add_test(tcase, test_drop);
	tcase_add_test(tcase, test_failed);
	return unit_run(suite);
}
