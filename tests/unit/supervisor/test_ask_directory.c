/* The directory of --ask: which files are answers, how questions appear, and what is removed. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/ask/directory.h"
#include "tests/unit/refuse-call.h"
#include "tests/unit/unit.h"

static char path[] = "/tmp/test-ask.XXXXXX";
static int dir_fd;

static void make_directory(void)
{
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(path));
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
}

static void remove_directory(void)
{
	ask_directory_remove_question(dir_fd, 7);
	(void)close(dir_fd);
	(void)rmdir(path);
}

static void write_file(const char *name, const char *text)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

static enum ask_result parse(const char *text)
{
	return ask_result_parse_answer(text, strlen(text));
}

START_TEST(test_words)
{
	ck_assert_int_eq(parse("allow"), ASK_ANSWER_ALLOW);
	ck_assert_int_eq(parse("allow\n"), ASK_ANSWER_ALLOW);
	ck_assert_int_eq(parse("allow\r\n"), ASK_ANSWER_ALLOW);
	ck_assert_int_eq(parse("allow because I say so"), ASK_ANSWER_ALLOW);
	ck_assert_int_eq(parse("allow-always\n"), ASK_ANSWER_ALLOW_ALWAYS);
	ck_assert_int_eq(parse("deny\tno"), ASK_ANSWER_DENY);
	ck_assert_int_eq(parse("kill"), ASK_ANSWER_DENY_AND_KILL);
	ck_assert_int_eq(parse(""), ASK_NO_ANSWER_YET);
	ck_assert_int_eq(parse("Allow"), ASK_ANSWER_MALFORMED);
	ck_assert_int_eq(parse("allowed"), ASK_ANSWER_MALFORMED);
	ck_assert_int_eq(parse("allo"), ASK_ANSWER_MALFORMED);
	ck_assert_int_eq(parse(" allow"), ASK_ANSWER_MALFORMED);
	ck_assert_int_eq(parse("\n"), ASK_ANSWER_MALFORMED);
	ck_assert_int_eq(parse("timeout"), ASK_ANSWER_MALFORMED);
	ck_assert_int_eq(parse("none"), ASK_ANSWER_MALFORMED);
	ck_assert_int_eq(ask_result_parse_answer("allow\0x", 7), ASK_ANSWER_MALFORMED);
	for (enum ask_result word = 0; word < ASK_RESULT_MAX; word++)
		ck_assert_ptr_nonnull(ask_result_get_name(word));
}
END_TEST

START_TEST(test_answers)
{
	uid_t uid = 12345;
	char text[8192];

	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_NO_ANSWER_YET);
	write_file("7.answer", "");
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_NO_ANSWER_YET);
	ck_assert_uint_eq(uid, 12345);
	write_file("7.answer", "allow\n");
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_ANSWER_ALLOW);
	ck_assert_uint_eq(uid, getuid());
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 71, &uid), ASK_NO_ANSWER_YET);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	write_file("7.answer", text);
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_ANSWER_MALFORMED);
	ck_assert_int_eq(unlinkat(dir_fd, "7.answer", 0), 0);
	ck_assert_int_eq(mkfifoat(dir_fd, "7.answer", 0600), 0);
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_ANSWER_UNREADABLE);
	ck_assert_int_eq(unlinkat(dir_fd, "7.answer", 0), 0);
	write_file("7.answer", "allow\n");
	ck_assert_int_eq(fchmodat(dir_fd, "7.answer", 0, 0), 0);
	ck_assert_int_eq(fchmod(dir_fd, 0755), 0);
	ck_assert(getuid() != 0 || seteuid(54321) == 0); /* root may read everything */
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_ANSWER_NOT_READABLE_YET);
	ck_assert_int_eq(seteuid(getuid()), 0);
	ck_assert_int_eq(unlinkat(dir_fd, "7.answer", 0), 0);
	write_file("other", "allow");
	ck_assert_int_eq(symlinkat("other", dir_fd, "7.answer"), 0);
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_ANSWER_UNREADABLE);
	ck_assert_int_eq(unlinkat(dir_fd, "other", 0), 0);
	ck_assert_int_eq(unlinkat(dir_fd, "7.answer", 0), 0);
	ck_assert_int_eq(mkdirat(dir_fd, "7.answer", 0700), 0);
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_ANSWER_UNREADABLE);
	ck_assert_int_eq(unlinkat(dir_fd, "7.answer", AT_REMOVEDIR), 0);
}
END_TEST

/* It may have files that are not seen. */
START_TEST(test_unreadable)
{
	refuse_call(SYS_getdents64, EIO);
	ck_assert_int_eq(ask_directory_find_files(dir_fd), -EIO);
}
END_TEST

START_TEST(test_questions)
{
	struct stat st;
	uid_t uid;

	ck_assert_int_eq(ask_directory_find_files(dir_fd), 0);
	write_file("notes.json", "{}");
	ck_assert_int_eq(ask_directory_find_files(dir_fd), 0);
	ck_assert_int_eq(unlinkat(dir_fd, "notes.json", 0), 0);
	write_file("7.answer", "allow");
	ck_assert_int_eq(ask_directory_find_files(dir_fd), 1);
	(void)umask(0777);
	ck_assert_int_eq(ask_directory_write_question(dir_fd, 7, "{}", 2), 0);
	(void)umask(022);
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_NO_ANSWER_YET); /* the old answer is gone */
	ck_assert_int_eq(fstatat(dir_fd, "7.json", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0600);
	ck_assert_int_eq(st.st_size, 2);
	ck_assert_int_lt(faccessat(dir_fd, "7.part", F_OK, 0), 0);
	write_file("7.answer", "deny");
	ask_directory_remove_question(dir_fd, 7);
	ck_assert_int_eq(ask_directory_find_files(dir_fd), 0);
	ask_directory_remove_question(dir_fd, 7);
}
END_TEST

START_TEST(test_removed_directory)
{
	uid_t uid;

	ck_assert(!ask_directory_is_gone(dir_fd));
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert(ask_directory_is_gone(dir_fd));
	ck_assert_int_eq(ask_directory_write_question(dir_fd, 7, "{}", 2), -ENOENT);
	ck_assert_int_eq(ask_directory_read_answer(dir_fd, 7, &uid), ASK_NO_ANSWER_YET);
	ask_directory_remove_question(dir_fd, 7);
	ck_assert(ask_directory_is_gone(-1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ask directory");
	TCase *all = tcase_create("all");

	tcase_add_checked_fixture(all, make_directory, remove_directory);
	tcase_add_test(all, test_words);
	tcase_add_test(all, test_answers);
	tcase_add_test(all, test_questions);
	tcase_add_test(all, test_unreadable);
	tcase_add_test(all, test_removed_directory);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
