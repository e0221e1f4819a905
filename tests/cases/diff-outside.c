/*
 * A helper outside of the sandbox that tells whether a case touched the fixture. Most cases do not, and checking all of
 * it from inside takes a hundred judged calls. Touched files are always checked from inside, which shows the program's
 * view.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "tests/cases/diff.h"

#define BEGIN 'b' /* the fixture is new */
#define LOOK 'l'  /* touched since the last question? */
#define YES 'y'
#define NO 'n'

/* Reading too: a time of access that is set is nothing else. Directories that no process may read cannot be changed. */
#define TOUCHED                                                                                                \
	(IN_CREATE | IN_DELETE | IN_MOVE | IN_ATTRIB | IN_MODIFY | IN_ACCESS | IN_DELETE_SELF | IN_MOVE_SELF | \
	 IN_ONLYDIR)

/* Both ends are pipes with names in the directory of all cases, which the helper and the program open once. */
#define ASK_PIPE "ask"
#define ANSWER_PIPE "answer"

static bool has_helper;

static int open_end(const char *name, int flags)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", diff_base, name);
	return open(path, flags | O_CLOEXEC);
}

/* At the top of the table, where diff_close_all leaves them and no case sees their numbers. */
static void keep(int fd, int number)
{
	if (fd < 0 || dup3(fd, number, O_CLOEXEC) < 0)
		diff_die("the helper's pipes");
	(void)close(fd);
}

void diff_outside_begin(void)
{
	int ask = open_end(ASK_PIPE, O_WRONLY);

	has_helper = ask >= 0;
	if (!has_helper)
		return;
	keep(ask, DIFF_ASK_FD);
	keep(open_end(ANSWER_PIPE, O_RDONLY), DIFF_ANSWER_FD);
}

static bool ask(char what)
{
	char answer = 0;

	if (write(DIFF_ASK_FD, &what, 1) != 1 || read(DIFF_ANSWER_FD, &answer, 1) != 1)
		diff_die("the helper is gone");
	return answer == YES;
}

void diff_outside_fresh(void)
{
	if (has_helper && !ask(BEGIN))
		diff_die("the helper does not see the fixture");
}

bool diff_outside_touched(void)
{
	return !has_helper || ask(LOOK);
}

/* ---- the helper ---- */

static bool watch(int inotify_fd, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool good = dir && inotify_add_watch(inotify_fd, path, TOUCHED) >= 0;

	while (good && (entry = readdir(dir))) {
		char below[4200];

		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && entry->d_type == DT_DIR)
			good = watch(inotify_fd, below) || access(below, R_OK) < 0;
	}
	if (dir)
		closedir(dir);
	return good;
}

static bool was_touched(int inotify_fd)
{
	char events[16 * 1024];
	bool any = false;

	while (read(inotify_fd, events, sizeof(events)) > 0)
		any = true;
	return any;
}

/* Begins anew: the old watches are of what was removed. What watching itself touched is forgotten. */
static bool begin(int *inotify_fd)
{
	bool good;

	if (*inotify_fd >= 0)
		(void)close(*inotify_fd);
	*inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	good = *inotify_fd >= 0 && chdir(diff_base) == 0 && watch(*inotify_fd, "c");
	(void)was_touched(*inotify_fd);
	return good;
}

int diff_outside_serve(void)
{
	int questions = open_end(ASK_PIPE, O_RDONLY), answers = open_end(ANSWER_PIPE, O_WRONLY), inotify_fd = -1;
	char what;

	if (questions < 0 || answers < 0)
		diff_die("the pipes");
	while (read(questions, &what, 1) == 1) {
		char answer = (what == BEGIN ? begin(&inotify_fd) : was_touched(inotify_fd)) ? YES : NO;

		if (write(answers, &answer, 1) != 1)
			return 1;
	}
	return 0;
}
