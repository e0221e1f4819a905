#include "supervisor/ask/directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define ANSWER_FILE_READ_BYTES_MAX 256u /* most bytes of an answer that are read; its first word decides */
#define QUESTION_FILE_NAME_BYTES 40u    /* buffer for NUMBER.json or NUMBER.answer */

static const char *const ask_words[ASK_RESULT_MAX] = {
	[ASK_NO_ANSWER_YET] = "none",
	[ASK_ANSWER_NOT_READABLE_YET] = "forbidden",
	[ASK_ANSWER_ALLOW] = "allow",
	[ASK_ANSWER_ALLOW_ALWAYS] = "allow-always",
	[ASK_ANSWER_DENY] = "deny",
	[ASK_ANSWER_DENY_AND_KILL] = "kill",
	[ASK_ANSWER_MALFORMED] = "malformed",
	[ASK_ANSWER_UNREADABLE] = "unreadable",
	[ASK_ANSWER_TIMEOUT] = "timeout",
	[ASK_DIRECTORY_GONE] = "directory_gone",
	[ASK_TOO_MANY_OPEN_QUESTIONS] = "too_many",
	[ASK_QUESTION_UNWRITABLE] = "unwritable",
	[ASK_QUESTION_WITHDRAWN] = "withdrawn",
	[ASK_ANSWER_ONCE] = "once",
	[ASK_ANSWER_RUN] = "run",
	[ASK_ANSWER_REMEMBER] = "remember",
	[ASK_ANSWER_NO] = "no",
	[ASK_ANSWER_STOP] = "stop",
	[ASK_ANSWER_UNANSWERED] = "unanswered",
	[ASK_APPROVER_GONE] = "approver_gone",
};

const char *ask_result_get_name(enum ask_result word)
{
	return ask_words[word];
}

enum ask_result ask_result_parse_answer(const char *text, size_t len)
{
	static const char blanks[] = " \t\r\n";
	size_t word = 0;

	if (len == 0)
		return ASK_NO_ANSWER_YET;
	while (word < len && !memchr(blanks, text[word], sizeof(blanks) - 1))
		word++;
	for (enum ask_result each = ASK_ANSWER_ALLOW; each <= ASK_ANSWER_DENY_AND_KILL; each++)
		if (strlen(ask_words[each]) == word && memcmp(ask_words[each], text, word) == 0)
			return each;
	return ASK_ANSWER_MALFORMED;
}

static void directory_format_file_name(char name[QUESTION_FILE_NAME_BYTES], uint64_t number, const char *end)
{
	(void)snprintf(name, QUESTION_FILE_NAME_BYTES, "%" PRIu64 ".%s", number, end);
}

/* Opens the answer with O_NONBLOCK: if it is a FIFO, opening it must not block the supervisor. */
enum ask_result ask_directory_read_answer(int dir_fd, uint64_t number, uid_t *ret_uid)
{
	_cleanup_close_ int fd = -1;
	char name[QUESTION_FILE_NAME_BYTES], text[ANSWER_FILE_READ_BYTES_MAX];
	struct stat st;
	enum ask_result word;
	ssize_t got;

	directory_format_file_name(name, number, "answer");
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT   ? ASK_NO_ANSWER_YET
		       : errno == EACCES ? ASK_ANSWER_NOT_READABLE_YET
					 : ASK_ANSWER_UNREADABLE;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return ASK_ANSWER_UNREADABLE;
	got = read(fd, text, sizeof(text));
	if (got < 0)
		return ASK_ANSWER_UNREADABLE;
	/* the result is ASK_NO_ANSWER_YET if a shell has created the file and has not written to it yet */
	word = ask_result_parse_answer(text, (size_t)got);
	if (word != ASK_NO_ANSWER_YET)
		*ret_uid = st.st_uid;
	return word;
}

int ask_directory_write_question(int dir_fd, uint64_t number, const char *text, size_t len)
{
	_cleanup_close_ int fd = -1;
	char name[QUESTION_FILE_NAME_BYTES], part[QUESTION_FILE_NAME_BYTES];
	int r;

	directory_format_file_name(name, number, "answer");
	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		return -errno;
	directory_format_file_name(name, number, "json");
	directory_format_file_name(part, number, "part");
	fd = openat(dir_fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	/* The umask that openat(2) applied may be that of a target thread. */
	r = fchmod(fd, 0600) < 0 ? -errno : io_write_all(fd, text, len);
	if (r == 0 && renameat(dir_fd, part, dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, part, 0);
	return r;
}

void ask_directory_remove_question(int dir_fd, uint64_t number)
{
	char name[QUESTION_FILE_NAME_BYTES];

	directory_format_file_name(name, number, "json");
	(void)unlinkat(dir_fd, name, 0); /* ENOENT: the user has removed it */
	directory_format_file_name(name, number, "answer");
	(void)unlinkat(dir_fd, name, 0);
}

bool ask_directory_is_gone(int dir_fd)
{
	struct stat st;

	return fstat(dir_fd, &st) < 0 || st.st_nlink == 0;
}

static bool directory_name_is_question_file(const char *name)
{
	static const char *const ends[] = {".json", ".answer", ".part"};
	const char *end = name;

	while (isdigit((unsigned char)*end))
		end++;
	for (size_t i = 0; end > name && i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(end, ends[i]) == 0)
			return true;
	return false;
}

int ask_directory_find_files(int dir_fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(dir_fd, "."));
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (r == 0 && (entry = io_read_entry(dir, &r)))
		if (directory_name_is_question_file(entry->d_name))
			return 1;
	return r;
}
