/* What callgate serve decides without a sandbox: path patterns, base64, ids, keys and quotas. */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "agents/e2b/private.h"
#include "agents/sandbox/private.h"
#include "tests/unit/unit.h"

/* What looking.c calls, which the linker leads here. */
static bool is_out_of_memory;
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

char *__wrap_strdup(const char *text)
{
	return is_out_of_memory ? NULL : __real_strdup(text);
}

char *__wrap_text_format(const char *format, ...)
{
	va_list args;
	char *text;
	int r;

	va_start(args, format);
	r = is_out_of_memory ? -1 : vasprintf(&text, format, args);
	va_end(args);
	return r < 0 ? NULL : text;
}

START_TEST(paths_match_their_pattern)
{
	char part[HTTP_PATH_WILDCARDS_MAX][HTTP_PATH_WILDCARD_SIZE];
	char text[600] = "/a/";

	ck_assert(http_match_path("/a/{}/b", "/a/x%2f/b", part));
	ck_assert_str_eq(part[0], "x%2f");
	ck_assert(http_match_path("/{}/{}", "/1/2", part));
	ck_assert_str_eq(part[1], "2");
	ck_assert(!http_match_path("/a/{}", "/a/", part));
	ck_assert(!http_match_path("/a/{}", "/a/b/c", part));
	ck_assert(!http_match_path("/a", "/a/", part));
	ck_assert(!http_match_path("/a/", "/a", part));
	memset(text + 3, 'x', sizeof(text) - 4);
	ck_assert(!http_match_path("/a/{}", text, part)); /* longer than a part may be */
}
END_TEST

START_TEST(base64_goes_there_and_back)
{
	char bytes[259], *back;
	size_t len;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	for (size_t count = 0; count <= sizeof(bytes); count++) {
		json_t *text = connect_encode_base64(bytes, count);

		back = connect_decode_base64(json_string_value(text), json_string_length(text), &len);
		ck_assert_uint_eq(len, count);
		ck_assert_mem_eq(back, bytes, count);
		free(back);
		json_decref(text);
	}
	back = connect_decode_base64("-_8", 3, &len); /* URL-safe, without padding */
	ck_assert_uint_eq(len, 2);
	ck_assert_mem_eq(back, "\xfb\xff", 2);
	free(back);
	ck_assert_ptr_null(connect_decode_base64("a b=", 4, &len));
	ck_assert_ptr_null(connect_decode_base64("\xff\xff\xff\xff", 4, &len));
}
END_TEST

START_TEST(numbers_of_messages_are_numbers_or_texts)
{
	json_t *message = json_pack("{s:i, s:s, s:s, s:n}", "a", 5, "b_c", "18446744073709551615", "d", "7", "e");

	ck_assert_int_eq(connect_get_integer(message, "a", NULL, -1), 5);
	ck_assert_int_eq(connect_get_integer(message, "bC", "b_c", -1), -1); /* more than an int64 */
	ck_assert_int_eq(connect_get_integer(message, "d", NULL, -1), 7);
	ck_assert_int_eq(connect_get_integer(message, "e", NULL, -1), -1);
	json_decref(message);
}
END_TEST

START_TEST(ids_are_different_and_compared_whole)
{
	char a[E2B_ID_SIZE], b[E2B_ID_SIZE];

	ck_assert(keys_make_random_id(a) && keys_make_random_id(b));
	ck_assert_uint_eq(strlen(a), E2B_ID_SIZE - 1);
	ck_assert(!keys_equal_in_constant_time(a, b));
	ck_assert(keys_equal_in_constant_time(a, a));
	ck_assert(!keys_equal_in_constant_time("abc", "abcd"));
	ck_assert(!keys_equal_in_constant_time("abc", "abd"));
	ck_assert(keys_equal_in_constant_time("", ""));
}
END_TEST

START_TEST(keys_have_what_their_quota_leaves)
{
	struct e2b e2b = {0};
	struct e2b_template template = {.memory_limit_bytes = 100, .disk_limit_bytes = 10};
	json_t *list = json_pack("[{s:s, s:i, s:i}, {s:s, s:b}]", "key", "0123456789abcdef", "sandboxes", 2, "memory",
				 150, "key", "abcdefghijklmnop", "operator", 1);
	const char *what;
	char *why = NULL;

	ck_assert_int_eq(keys_load_all(&e2b, list, &why), 0);
	ck_assert_ptr_eq(keys_find_by_text(&e2b, "0123456789abcdef"), &e2b.keys[0]);
	ck_assert_ptr_null(keys_find_by_text(&e2b, "0123456789abcdeF"));
	ck_assert_ptr_null(keys_find_by_text(&e2b, NULL));
	ck_assert(e2b.keys[1].is_operator && !e2b.keys[0].is_operator);
	ck_assert(keys_have_quota_for(&e2b.keys[0], &template, &what));
	keys_reserve_quota(&e2b.keys[0], &template);
	ck_assert(!keys_have_quota_for(&e2b.keys[0], &template, &what));
	ck_assert_str_eq(what, "memory");
	template.memory_limit_bytes = 1;
	keys_reserve_quota(&e2b.keys[0], &template);
	ck_assert(!keys_have_quota_for(&e2b.keys[0], &template, &what));
	ck_assert_str_eq(what, "sandboxes");
	keys_return_quota(&e2b.keys[0], &template);
	ck_assert(keys_have_quota_for(&e2b.keys[0], &template, &what));
	keys_free_all(&e2b);
	json_decref(list);
}
END_TEST

START_TEST(wrong_keys_are_refused_with_a_reason)
{
	static const char *const wrong[] = {"[]", "[{}]", "[{\"key\": \"short\"}]",
					    "[{\"key\": \"0123456789abcdef\", \"memory\": \"1G\"}]",
					    "[{\"key\": \"0123456789abcdef\", \"operator\": 1}]"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct e2b e2b = {0};
		json_t *list = json_loads(wrong[i], 0, NULL);
		char *why = NULL;

		ck_assert_int_eq(keys_load_all(&e2b, list, &why), -EINVAL);
		ck_assert_ptr_nonnull(why);
		free(why);
		keys_free_all(&e2b);
		json_decref(list);
	}
}
END_TEST

START_TEST(what_is_refused_is_refused_without_memory)
{
	struct sandbox sandbox = {.session_hold_fd = -1};
	const struct e2b_sandbox box = {.sandbox = &sandbox};
	json_t *refused = json_pack("{s:b, s:s}", "refused", 1, "why", "reason"),
	       *fine = json_pack("{s:b}", "refused", 0);
	char *why = NULL;

	ck_assert(e2b_judge_look(&box, "program", fine, NULL, &why));
	ck_assert_ptr_null(why);
	ck_assert(!e2b_judge_look(&box, "program", refused, NULL, &why));
	ck_assert_ptr_nonnull(strstr(why, "reason"));
	free(why);
	is_out_of_memory = true;
	ck_assert(!e2b_judge_look(&box, "program", refused, NULL, &why));
	ck_assert_ptr_null(why);
	ck_assert(!e2b_judge_look(&box, "program", NULL, "no answer", &why));
	is_out_of_memory = false;
	json_decref(refused);
	json_decref(fine);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2b");
	TCase *all = tcase_create("all");

	tcase_add_test(all, paths_match_their_pattern);
	tcase_add_test(all, base64_goes_there_and_back);
	tcase_add_test(all, numbers_of_messages_are_numbers_or_texts);
	tcase_add_test(all, ids_are_different_and_compared_whole);
	tcase_add_test(all, keys_have_what_their_quota_leaves);
	tcase_add_test(all, wrong_keys_are_refused_with_a_reason);
	tcase_add_test(all, what_is_refused_is_refused_without_memory);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
