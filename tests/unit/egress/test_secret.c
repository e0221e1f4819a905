/* Secrets from everywhere, put into texts for their hosts only, and gone from memory afterwards. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "egress/secrets/secret.h"
#include "tests/unit/memory-search.h"
#include "tests/unit/unit.h"

/* ---- the policy, as far as it is needed ---- */

static struct net_secret list[8];
static size_t listed;

const struct net_secret *policy_net_get_secrets(const struct policy *policy, size_t *ret_count)
{
	(void)policy;
	*ret_count = listed;
	return list;
}

bool net_secret_allows_host(const struct net_secret *secret, const char *host)
{
	for (const char *const *pattern = secret->hosts; *pattern; pattern++)
		if (!strcmp(*pattern, host))
			return true;
	return false;
}

static const char *const hosts[] = {"api.test", "b.test", NULL};
static const char *const others[] = {"other.test", NULL};

static void say(const char *name, const char *from)
{
	list[listed++] = (struct net_secret){.name = name, .value_source = from, .hosts = hosts};
}

static struct secrets *loaded(void)
{
	struct policy_error error = {0};
	struct secrets *secrets = NULL;

	ck_assert_msg(secrets_load(NULL, &secrets, &error) == 0, "%s", error.text);
	return secrets;
}

/* That one cannot be had: why it says, without its value. */
static void refused(const char *from, int expected, const char *part)
{
	struct policy_error error = {0};
	struct secrets *secrets = NULL;

	listed = 0;
	say("TOKEN", from);
	ck_assert_int_eq(secrets_load(NULL, &secrets, &error), expected);
	ck_assert_ptr_null(secrets);
	ck_assert_msg(strstr(error.text, "secret TOKEN") && strstr(error.text, part), "%s", error.text);
	ck_assert_msg(!strstr(error.text, "hush"), "%s", error.text);
}

static void filled(const struct secrets *secrets, const char *template, const char *expected)
{
	_cleanup_free_ char *text = NULL;

	ck_assert_int_eq(secrets_fill_template(secrets, template, "api.test", &text), 0);
	ck_assert_str_eq(text, expected);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

/* ---- sources ---- */

START_TEST(test_none)
{
	struct policy_error error;
	struct secrets *secrets = (struct secrets *)&error;

	listed = 0;
	ck_assert_int_eq(secrets_load(NULL, &secrets, &error), 0);
	ck_assert_ptr_null(secrets);
	ck_assert_uint_eq(secrets_get_count(NULL), 0);
	secrets_free(NULL);
	secrets_forget_values(NULL);
}
END_TEST

START_TEST(test_sources)
{
	char path[] = "/tmp/callgate-secret-test-XXXXXX", from_file[64], from_fd[32];
	int fd = mkstemp(path), pipe_fd[2];
	struct secrets *secrets;

	ck_assert(fd >= 0 && !pipe2(pipe_fd, O_CLOEXEC));
	(void)close(fd);
	write_file(path, "of-a-file\n");
	ck_assert_int_eq(write(pipe_fd[1], "of-a-pipe\r\n", 11), 11);
	(void)close(pipe_fd[1]);
	ck_assert_int_eq(setenv("GIVEN", "of-the-environment", 1), 0);
	(void)snprintf(from_file, sizeof(from_file), "file:%s", path);
	(void)snprintf(from_fd, sizeof(from_fd), "fd:%d", pipe_fd[0]);
	listed = 0;
	say("E", "env:GIVEN");
	say("E2", "env:GIVEN"); /* the same once more */
	say("F", from_file);
	say("D", from_fd);
	say("C", "command:printf '%s%s\\n' of-a-command \"$(pwd)\""); /* in no directory that a run may write */
	secrets = loaded();
	(void)unlink(path);
	ck_assert_uint_eq(secrets_get_count(secrets), 5);
	ck_assert_str_eq(secrets_get_name(secrets, 2), "F");
	filled(secrets, "{E}|{E2}|{F}|{D}|{C}",
	       "of-the-environment|of-the-environment|of-a-file|of-a-pipe|of-a-command/");
	ck_assert_ptr_null(getenv("GIVEN"));
	ck_assert(fcntl(pipe_fd[0], F_GETFD) < 0 && errno == EBADF);
	secrets_mlock_values(secrets);
	secrets_free(secrets);
}
END_TEST

START_TEST(test_bad_sources)
{
	char path[] = "/tmp/callgate-secret-test-XXXXXX", from[64];
	int fd = mkstemp(path);

	ck_assert_int_eq(ftruncate(fd, SECRET_VALUE_BYTES_MAX + 1), 0);
	(void)close(fd);
	(void)snprintf(from, sizeof(from), "file:%s", path);
	refused(from, -EFBIG, "longer than");
	ck_assert_int_eq(truncate(path, 5), 0);
	refused(from, -EINVAL, "control character"); /* NUL */
	ck_assert_int_eq(truncate(path, 0), 0);
	refused(from, -EINVAL, "empty");
	(void)unlink(path);
	refused(from, -ENOENT, "cannot be opened");
	refused("env:CALLGATE_NOT_SET", -ENOENT, "not set");
	(void)setenv("TWO", "hush\nhush", 1);
	refused("env:TWO", -EINVAL, "line end");
	(void)setenv("TWO", "hush\r", 1);
	(void)setenv("LONE", "hush\rhush", 1);
	refused("env:LONE", -EINVAL, "line end");
	refused("fd:x", -EINVAL, "no descriptor");
	refused("fd:1000000", -EBADF, "cannot be read");
	refused("command:echo hush; exit 3", -EIO, "command failed");
	refused("command:kill -9 $$", -EIO, "command failed");
	refused("command:head -c 20000 /dev/zero | tr '\\0' x", -EFBIG, "longer than");
	refused("else:where", -EINVAL, "not known");
}
END_TEST

/* As long as it may be, and the longest name. */
START_TEST(test_long)
{
	static const char name[] = "A_NAME_THAT_IS_MUCH_LONGER_THAN_ANYBODY_WOULD_EVER_THINK_OF_WRITING_INTO_A_POLICY";
	_cleanup_free_ char *text = NULL;
	struct secrets *secrets;

	listed = 0;
	say(name, "command:head -c 16384 /dev/zero | tr '\\0' x");
	secrets = loaded();
	ck_assert_uint_lt(strlen(secrets_get_placeholder(secrets, 0)), SECRET_PLACEHOLDER_SIZE);
	ck_assert_int_eq(
		secrets_fill_template(secrets,
			     "{A_NAME_THAT_IS_MUCH_LONGER_THAN_ANYBODY_WOULD_EVER_THINK_OF_WRITING_INTO_A_POLICY}",
			     "b.test", &text),
		0);
	ck_assert_uint_eq(strlen(text), SECRET_VALUE_BYTES_MAX);
	secrets_free(secrets);
}
END_TEST

/* A command that neither writes nor ends, and leaves a child: all of it is over with the time, and not before. */
/* To egress: what it gets is the same, and nothing but the two ends ever has it. */
START_TEST(test_handed_over)
{
	struct secrets *secrets, *received = NULL;
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(secrets_send(NULL, pair[0]), 0);
	ck_assert_int_eq(setenv("GIVEN", "of-the-environment", 1), 0);
	listed = 0;
	ck_assert_int_eq(secrets_receive(NULL, pair[1], &received), 0);
	ck_assert_ptr_null(received);
	say("E", "env:GIVEN");
	say("C", "command:head -c 16384 /dev/zero | tr '\\0' x");
	secrets = loaded();
	ck_assert_int_eq(secrets_send(secrets, pair[0]), 0);
	ck_assert_int_eq(secrets_receive(NULL, pair[1], &received), 0);
	for (size_t i = 0; i < 2; i++)
		ck_assert_str_eq(secrets_get_placeholder(received, i), secrets_get_placeholder(secrets, i));
	secrets_free(secrets);
	filled(received, "{E}", "of-the-environment");
	secrets_free(received);
	(void)close(pair[0]);
	received = NULL;
	ck_assert_int_eq(secrets_receive(NULL, pair[1], &received), -EPIPE);
	ck_assert_ptr_null(received);
	(void)close(pair[1]);
}
END_TEST

START_TEST(test_time_limit)
{
	int pipe_fd[2];
	char byte;

	ck_assert_int_eq(pipe(pipe_fd), 0); /* inherited by the command and its child: it ends with the last of them */
	refused("command:sleep 1000 & sleep 1000", -ETIMEDOUT, "10 seconds");
	(void)close(pipe_fd[1]);
	ck_assert_int_eq(read(pipe_fd[0], &byte, 1), 0);
	(void)close(pipe_fd[0]);
}
END_TEST

/* ---- texts ---- */

START_TEST(test_fill)
{
	_cleanup_free_ char *text = NULL;
	struct secrets *secrets;

	(void)setenv("A", "aaa", 1);
	(void)setenv("B", "bbb", 1);
	listed = 0;
	say("A", "env:A");
	say("B", "env:B");
	list[1].hosts = others;
	secrets = loaded();
	filled(secrets, "Bearer {A}", "Bearer aaa");
	filled(secrets, "no secret at all", "no secret at all");
	filled(secrets, "{A}{A}}", "aaaaaa}");
	ck_assert_int_eq(secrets_fill_template(secrets, "{A}{B}", "api.test", &text), -EACCES);
	ck_assert_int_eq(secrets_fill_template(secrets, "{B}", "OTHER.test", &text), -EACCES);
	ck_assert_int_eq(secrets_fill_template(secrets, "{C}", "api.test", &text), -ENOENT);
	ck_assert_int_eq(secrets_fill_template(secrets, "{A", "api.test", &text), -ENOENT);
	ck_assert_int_eq(secrets_fill_template(secrets, "{}", "api.test", &text), -ENOENT);
	ck_assert_int_eq(secrets_fill_template(NULL, "{A}", "api.test", &text), -ENOENT);
	ck_assert_ptr_null(text);
	secrets_forget_values(secrets);
	ck_assert_int_eq(secrets_fill_template(secrets, "{A}", "api.test", &text), -EACCES);
	secrets_free(secrets);
}
END_TEST

START_TEST(test_replace)
{
	char text[400];
	_cleanup_free_ char *out = NULL;
	const char *a, *b;
	struct secrets *secrets;
	size_t len = 77;

	(void)setenv("A", "aaa", 1);
	(void)setenv("B", "bbb", 1);
	listed = 0;
	say("A", "env:A");
	say("B", "env:B");
	list[1].hosts = others;
	secrets = loaded();
	a = secrets_get_placeholder(secrets, 0);
	b = secrets_get_placeholder(secrets, 1);
	ck_assert_msg(!strncmp(a, "callgate-secret-A-", 18) && strlen(a) == 18 + 32 && strcmp(a + 18, b + 18) != 0,
		      "%s %s", a, b);

	(void)snprintf(text, sizeof(text), "x%s callgate-secret-%s,%s%s\xff", a, a, b, a);
	ck_assert_int_eq(secrets_replace_placeholders(secrets, "api.test", text, strlen(text), &out, &len), 1);
	(void)snprintf(text, sizeof(text), "xaaa callgate-secret-aaa,%saaa\xff", b);
	ck_assert_str_eq(out, text);
	ck_assert_uint_eq(len, strlen(text));

	ck_assert_int_eq(secrets_replace_placeholders(secrets, "api.test", b, strlen(b), &out, &len), 0);
	ck_assert_int_eq(secrets_replace_placeholders(secrets, "third.test", a, strlen(a), &out, &len), 0);
	/* cut off */
	ck_assert_int_eq(secrets_replace_placeholders(secrets, "api.test", a, strlen(a) - 1, &out, &len), 0);
	ck_assert_int_eq(secrets_replace_placeholders(secrets, "api.test", "", 0, &out, &len), 0);
	ck_assert_int_eq(secrets_replace_placeholders(NULL, "api.test", a, strlen(a), &out, &len), 0);
	secrets_forget_values(secrets);
	ck_assert_int_eq(secrets_replace_placeholders(secrets, "api.test", a, strlen(a), &out, &len), 0);
	ck_assert_str_eq(secrets_get_placeholder(secrets, 0), a);
	secrets_free(secrets);
}
END_TEST

/* A small text must not become a huge one. */
START_TEST(test_bounded)
{
	_cleanup_free_ char *text = NULL, *out = NULL;
	struct secrets *secrets;
	size_t len, one;

	listed = 0;
	say("L", "command:head -c 16000 /dev/zero | tr '\\0' x");
	secrets = loaded();
	one = strlen(secrets_get_placeholder(secrets, 0));
	text = malloc(5 * one);
	for (size_t i = 0; i < 5; i++)
		memcpy(text + i * one, secrets_get_placeholder(secrets, 0), one);
	ck_assert_int_eq(secrets_replace_placeholders(secrets, "api.test", text, 4 * one, &out, &len), 1);
	ck_assert_uint_eq(len, 64000);
	free(steal_pointer(&out));
	ck_assert_int_eq(secrets_replace_placeholders(secrets, "api.test", text, 5 * one, &out, &len), -EMSGSIZE);
	ck_assert_ptr_null(out);
	secrets_free(secrets);
}
END_TEST

/* ---- memory ---- */

#define VALUE_LEN 48

/* A new value, given to `give` and then known here only turned over. */
static void random_value(char value[VALUE_LEN + 1])
{
	ck_assert_int_eq(getrandom(value, VALUE_LEN, 0), VALUE_LEN);
	for (size_t i = 0; i < VALUE_LEN; i++)
		value[i] = (char)('a' + (unsigned char)value[i] % 26);
	value[VALUE_LEN] = '\0';
}

START_TEST(test_wiped)
{
	char path[] = "/tmp/callgate-secret-test-XXXXXX", from_file[64], from_command[64], *text;
	uint8_t value[VALUE_LEN + 1];
	int fd = mkstemp(path);
	struct secrets *secrets;
	size_t len;

	if (!memory_search_possible())
		return;
	random_value((char *)value);
	ck_assert_int_eq(setenv("GIVEN", (char *)value, 1), 0);
	ck_assert_int_eq(write(fd, value, VALUE_LEN), VALUE_LEN);
	(void)close(fd);
	memory_invert(value, VALUE_LEN);
	(void)snprintf(from_file, sizeof(from_file), "file:%s", path);
	(void)snprintf(from_command, sizeof(from_command), "command:cat %s", path);
	listed = 0;
	say("E", "env:GIVEN");
	say("F", from_file);
	say("C", from_command);
	secrets = loaded();
	(void)unlink(path);
	ck_assert_uint_eq(memory_search(value, VALUE_LEN), 3); /* one each, and none left of the environment */

	ck_assert_int_eq(secrets_fill_template(secrets, "{E}{F}", "api.test", &text), 0);
	ck_assert_uint_eq(memory_search(value, VALUE_LEN), 5);
	explicit_bzero(text, strlen(text));
	free(text);
	ck_assert_int_eq(secrets_replace_placeholders(secrets, "b.test", secrets_get_placeholder(secrets, 2),
						      strlen(secrets_get_placeholder(secrets, 2)), &text, &len),
			 1);
	explicit_bzero(text, len);
	free(text);
	ck_assert_uint_eq(memory_search(value, VALUE_LEN), 3);
	secrets_forget_values(secrets);
	ck_assert_uint_eq(memory_search(value, VALUE_LEN), 0);
	secrets_free(secrets);
}
END_TEST

/* One of several is wrong: what was read by then goes as well. */
START_TEST(test_wiped_on_error)
{
	uint8_t value[VALUE_LEN + 1];
	struct policy_error error;
	struct secrets *secrets;

	if (!memory_search_possible())
		return;
	random_value((char *)value);
	ck_assert_int_eq(setenv("GIVEN", (char *)value, 1), 0);
	memory_invert(value, VALUE_LEN);
	listed = 0;
	say("E", "env:GIVEN");
	say("F", "file:/nonexistent/secret");
	ck_assert_int_eq(secrets_load(NULL, &secrets, &error), -ENOENT);
	ck_assert_uint_eq(memory_search(value, VALUE_LEN), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("secret");
	TCase *tcase = tcase_create("secret");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 60); /* one waits the 10 seconds that a command has */
	tcase_add_test(tcase, test_none);
	tcase_add_test(tcase, test_sources);
	tcase_add_test(tcase, test_bad_sources);
	tcase_add_test(tcase, test_handed_over);
	tcase_add_test(tcase, test_long);
	tcase_add_test(tcase, test_time_limit);
	tcase_add_test(tcase, test_fill);
	tcase_add_test(tcase, test_replace);
	tcase_add_test(tcase, test_bounded);
	tcase_add_test(tcase, test_wiped);
	tcase_add_test(tcase, test_wiped_on_error);
	return unit_run(suite);
}
