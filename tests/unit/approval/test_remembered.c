/* The file of --approvals: which lines are answers for a question, and that nothing else grants anything. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "approval/private.h"
#include "approval/remembered.h"
#include "base/cleanup.h"
#include "tests/unit/unit.h"

static int fd;
static struct approval_question question;

static void make_file(void)
{
	fd = memfd_create("approvals", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_APPEND), 0);
	memset(question.scope, 'a', SHA256_HEX_SIZE - 1);
	memset(question.policy_sha256, 'b', SHA256_HEX_SIZE - 1);
}

static void close_file(void)
{
	(void)close(fd);
}

/* Adds an answer and keeps it. 0 or -errno. */
static int add(const struct approval_question *to, const char *text, uint64_t expires_s)
{
	off_t size = 0;
	int r = remembered_add(fd, to, text, expires_s, &size);

	if (r == 0)
		remembered_end(fd, size, true);
	return r;
}

static void write_text(const char *text)
{
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

START_TEST(finds_what_was_added)
{
	struct approval_question other = question;

	ck_assert(!remembered_find(fd, &question, 100));
	ck_assert_int_eq(add(&question, "{\"resolved\": \"/a\\u202e\", \"right\": \"r\"}", 200), 0);
	ck_assert(remembered_find(fd, &question, 100));
	ck_assert(remembered_find(fd, &question, 199));
	ck_assert(!remembered_find(fd, &question, 200));
	other.scope[3] = 'c';
	ck_assert(!remembered_find(fd, &other, 100));
	other = question;
	other.policy_sha256[0] = 'c';
	ck_assert(!remembered_find(fd, &other, 100));
	ck_assert_int_eq(add(&other, "no JSON", 300), 0);
	ck_assert(remembered_find(fd, &other, 299) && remembered_find(fd, &question, 100));
}
END_TEST

/* Of several answers, the one that holds longest counts. */
START_TEST(finds_the_latest_end)
{
	ck_assert_int_eq(add(&question, "{}", 300), 0);
	ck_assert_int_eq(add(&question, "{}", 200), 0);
	ck_assert_uint_eq(remembered_find(fd, &question, 100), 300);
	ck_assert_uint_eq(remembered_find(fd, &question, 250), 300);
	ck_assert_uint_eq(remembered_find(fd, &question, 300), 0);
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
	ck_assert_int_eq(add(&question, "{}", 200), 0);
	ck_assert(remembered_find(fd, &question, 100));
}
END_TEST

/* A file that is too long is not read, and nothing is added. */
START_TEST(is_bounded)
{
	ck_assert_int_eq(add(&question, "{}", 200), 0);
	ck_assert_int_eq(ftruncate(fd, REMEMBERED_FILE_BYTES_MAX + 1), 0);
	ck_assert(!remembered_find(fd, &question, 100));
	ck_assert_int_eq(add(&question, "{}", 200), -EFBIG);
}
END_TEST

/* Puts a new file of a mode in the place of another one, as editors do. */
static void replace(const char *path, mode_t mode, const char *text)
{
	_cleanup_close_ int made = -1;
	char other[64];

	(void)snprintf(other, sizeof(other), "%s.new", path);
	made = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(made, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(fchmod(made, mode), 0);
	ck_assert_int_eq(rename(other, path), 0);
}

START_TEST(follows_the_name)
{
	char dir[] = "/tmp/remembered-XXXXXX", path[64], text[512];
	const char *why;
	int file;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/file", dir);
	file = remembered_open(path, &why);
	ck_assert_int_ge(file, 0);
	remembered_follow(path, &file);
	ck_assert_uint_eq(remembered_find(file, &question, 100), 0);
	(void)snprintf(text, sizeof(text), "{\"scope\": \"%s\", \"policy_sha256\": \"%s\", \"expires\": 200}\n",
		       question.scope, question.policy_sha256);
	replace(path, 0600, text);
	remembered_follow(path, &file);
	ck_assert_uint_eq(remembered_find(file, &question, 100), 200);
	replace(path, 0622, text); /* others could write there */
	remembered_follow(path, &file);
	ck_assert_int_eq(file, -1);
	remembered_follow(path, &file);
	ck_assert_int_eq(file, -1);
	replace(path, 0600, text);
	remembered_follow(path, &file);
	ck_assert_uint_eq(remembered_find(file, &question, 100), 200);
	ck_assert_int_eq(unlink(path), 0);
	remembered_follow(path, &file);
	ck_assert_uint_eq(remembered_find(file, &question, 100), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	remembered_follow(path, &file);
	ck_assert_int_eq(file, -1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static void get_content(char text[4096])
{
	ssize_t len = pread(fd, text, 4095, 0);

	ck_assert_int_ge(len, 0);
	text[len] = '\0';
}

/* A last line without its end does not swallow the next answer, and an answer that is taken out leaves no byte. */
START_TEST(takes_out_what_does_not_count)
{
	static char before[4096], after[4096];
	off_t size;

	write_text("{\"scope\": \"x\"}");
	get_content(before);
	ck_assert_int_eq(remembered_add(fd, &question, "{}", 200, &size), 0);
	ck_assert(remembered_find(fd, &question, 100));
	remembered_end(fd, size, false);
	get_content(after);
	ck_assert_str_eq(after, before);
	ck_assert_int_eq(add(&question, "{}", 200), 0);
	ck_assert(remembered_find(fd, &question, 100));
	get_content(after);
	ck_assert_int_eq(strncmp(after, "{\"scope\": \"x\"}\n{", 16), 0);
}
END_TEST

/* ---- answers that come late ---- */

static char closed_why[16];

static void note_close(struct approver *approver, struct approver_question *closed, const char *why)
{
	(void)approver;
	(void)closed;
	(void)snprintf(closed_why, sizeof(closed_why), "%s", why);
}

static unsigned asked;

static int note_ask(struct approver *approver, struct approver_question *question_asked)
{
	(void)approver;
	(void)question_asked;
	asked++;
	return 0;
}

static const struct approver_front front = {.way = APPROVAL_BY_SOCKET, .ask = note_ask, .close = note_close};

/*
 * Gives the answer "remember". withdrawn: the supervisor waits no longer; late: it is going to withdraw the question.
 * Returns what it gets as the answer's word.
 */
static enum approval_answer_word answer(bool withdrawn, bool late)
{
	struct approver *approver = calloc(1, sizeof(*approver));
	struct approver_question *first = &approver->question[0];
	struct approval_question message = question;
	struct approval_answer got = {.word = APPROVAL_UNANSWERED};
	json_t *object;
	int pair[2];

	memset(message.id, 'c', SHA256_HEX_SIZE - 1);
	message.can_hold_for_run = true;
	message.deadline_ns = late ? 1 : UINT64_MAX;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	approver->front = &front;
	approver->channel_fd = pair[0];
	approver->options.remembered_fd = fd;
	*first = (struct approver_question){.is_open = true, .head = message, .answer_fd = -1, .text = strdup("{}")};
	message.kind = APPROVAL_WITHDRAWAL;
	if (withdrawn) {
		ck_assert_int_eq(send(pair[1], &message, sizeof(message), 0), (ssize_t)sizeof(message));
		message.kind = APPROVAL_QUESTION; /* an equal one, of another call */
		memset(message.id, 'd', SHA256_HEX_SIZE - 1);
		ck_assert_int_eq(send(pair[1], &message, sizeof(message), 0), (ssize_t)sizeof(message));
		memset(message.id, 'c', SHA256_HEX_SIZE - 1);
	}
	object = json_pack("{s:s, s:s}", "id", message.id, "answer", "remember");
	ck_assert(questions_take_answer(approver, NULL, object, 0));
	json_decref(object);
	ck_assert(first->is_open == late);
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		free(approver->question[i].text);
	(void)recv(pair[1], &got, sizeof(got), MSG_DONTWAIT);
	(void)close(pair[0]);
	(void)close(pair[1]);
	free(approver);
	return got.word;
}

/* An equal question that comes while a late answer is taken out again is put, and not answered by that answer. */
START_TEST(answers_nothing_by_what_came_late)
{
	ck_assert_int_eq(answer(true, false), APPROVAL_UNANSWERED);
	ck_assert_uint_eq(asked, 1);
	ck_assert_int_eq(answer(false, false), APPROVAL_REMEMBER);
	ck_assert_uint_eq(asked, 1);
}
END_TEST

/* Another process that keeps the file locked does not stop an approver: nothing is found then, and nothing is added. */
START_TEST(waits_for_no_lock)
{
	_cleanup_close_ int other = -1;
	char path[64];

	ck_assert_int_eq(add(&question, "{}", 200), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(flock(other, LOCK_EX), 0);
	ck_assert(!remembered_find(fd, &question, 100));
	ck_assert_int_eq(add(&question, "{}", 200), -EWOULDBLOCK);
	ck_assert_int_eq(flock(other, LOCK_UN), 0);
	ck_assert(remembered_find(fd, &question, 100));
}
END_TEST

/* The supervisor may have given up while the answer was written: then it is not remembered either. */
START_TEST(forgets_what_came_late)
{
	ck_assert_int_eq(answer(true, false), APPROVAL_UNANSWERED);
	ck_assert_str_eq(closed_why, "withdrawn");
	ck_assert_int_eq(answer(false, true), APPROVAL_UNANSWERED);
	ck_assert(!remembered_find(fd, &question, (uint64_t)time(NULL)));
	ck_assert_int_eq(answer(false, false), APPROVAL_REMEMBER);
	ck_assert_str_eq(closed_why, "answered");
	ck_assert(remembered_find(fd, &question, (uint64_t)time(NULL)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("remembered");
	TCase *all = tcase_create("all");

	tcase_add_checked_fixture(all, make_file, close_file);
	tcase_add_test(all, finds_what_was_added);
	tcase_add_test(all, finds_the_latest_end);
	tcase_add_test(all, follows_the_name);
	tcase_add_test(all, ignores_what_is_no_answer);
	tcase_add_test(all, is_bounded);
	tcase_add_test(all, takes_out_what_does_not_count);
	tcase_add_test(all, forgets_what_came_late);
	tcase_add_test(all, answers_nothing_by_what_came_late);
	tcase_add_test(all, waits_for_no_lock);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
