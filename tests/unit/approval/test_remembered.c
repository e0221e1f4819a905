/* The file of --approvals: which lines are answers for a question, and that nothing else grants anything. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "approval/remembered.h"
#include "tests/unit/unit.h"

static int fd;
static struct approval_question question;

static void make_file(void)
{
	fd = memfd_create("approvals", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	memset(question.scope, 'a', SHA256_HEX_SIZE - 1);
	memset(question.policy_sha256, 'b', SHA256_HEX_SIZE - 1);
}

static void close_file(void)
{
	(void)close(fd);
}

static void write_text(const char *text)
{
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

START_TEST(finds_what_was_added)
{
	struct approval_question other = question;

	ck_assert(!remembered_find(fd, &question, 100));
	ck_assert_int_eq(remembered_add(fd, &question, "{\"resolved\": \"/a\\u202e\", \"right\": \"r\"}", 200), 0);
	ck_assert(remembered_find(fd, &question, 100));
	ck_assert(remembered_find(fd, &question, 199));
	ck_assert(!remembered_find(fd, &question, 200));
	other.scope[3] = 'c';
	ck_assert(!remembered_find(fd, &other, 100));
	other = question;
	other.policy_sha256[0] = 'c';
	ck_assert(!remembered_find(fd, &other, 100));
	ck_assert_int_eq(remembered_add(fd, &other, "no JSON", 300), 0);
	ck_assert(remembered_find(fd, &other, 299) && remembered_find(fd, &question, 100));
}
END_TEST

START_TEST(ignores_what_is_no_answer)
{
	static const char *const members[] = {
		"\"expires\": \"200\"", "\"expires\": -1",
		"\"expires\": 1e99",    "\"expires\": 200, \"expires\": 300",
		"\"expires\": null",    "\"policy_sha256\": 1, \"expires\": 200",
	};

	write_text("\n\n[]\nnull\n{\"scope\"\n\xff\n");
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		write_text("{\"scope\": \"");
		write_text(question.scope);
		write_text("\", \"policy_sha256\": \"");
		write_text(question.policy_sha256);
		write_text("\", ");
		write_text(members[i]);
		write_text("}\n");
	}
	ck_assert(!remembered_find(fd, &question, 100));
	ck_assert_int_eq(remembered_add(fd, &question, "{}", 200), 0);
	ck_assert(remembered_find(fd, &question, 100));
}
END_TEST

/* A file that is too long is not read, and nothing is added. */
START_TEST(is_bounded)
{
	ck_assert_int_eq(remembered_add(fd, &question, "{}", 200), 0);
	ck_assert_int_eq(ftruncate(fd, REMEMBERED_FILE_BYTES_MAX + 1), 0);
	ck_assert(!remembered_find(fd, &question, 100));
	ck_assert_int_eq(remembered_add(fd, &question, "{}", 200), -EFBIG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("remembered");
	TCase *all = tcase_create("all");

	tcase_add_checked_fixture(all, make_file, close_file);
	tcase_add_test(all, finds_what_was_added);
	tcase_add_test(all, ignores_what_is_no_answer);
	tcase_add_test(all, is_bounded);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
