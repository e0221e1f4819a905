/*
 * The argument changes during the call: a thread flips bytes of the path between two valid names. The result must be
 * that of one of the two names, and the descriptor must refer to that very object.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/cases/diff.h"

#define ROUNDS 400

static char shared[64];
static atomic_bool stop;

static void *flip(void *arg)
{
	char *byte = arg;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		__atomic_store_n(byte, 'a', __ATOMIC_RELAXED);
		__atomic_store_n(byte, 'b', __ATOMIC_RELAXED);
	}
	return NULL;
}

static pthread_t start(const char *path, size_t at)
{
	pthread_t thread;

	memcpy(shared, path, strlen(path) + 1);
	atomic_store(&stop, false);
	if (pthread_create(&thread, NULL, flip, shared + at) != 0)
		diff_die("pthread_create");
	return thread;
}

static void finish(pthread_t thread)
{
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

static void make(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, 1) != 1)
		diff_die(name);
	(void)close(fd); /* a byte in a local file */
}

static void open_both(void)
{
	pthread_t thread;
	int odd = 0;

	diff_begin("race open");
	make("race-a", "A");
	make("race-b", "B");
	thread = start("race-a", 5);
	for (int i = 0; i < ROUNDS; i++) {
		char c = 0;
		int fd = open(shared, O_RDONLY);

		if (fd < 0 || read(fd, &c, 1) != 1 || (c != 'A' && c != 'B'))
			odd++;
		if (fd >= 0)
			(void)close(fd); /* read already */
	}
	finish(thread);
	diff_say(" neither=%d", odd);
	diff_end(false);
	diff_begin("race link-or-file");
	(void)unlink("race-b"); /* the next call fails if it did not */
	diff_ret(symlink("dir/sub", "race-b") < 0 ? -errno : 0);
	thread = start("race-a", 5);
	odd = 0;
	for (int i = 0; i < ROUNDS; i++) {
		char c = 0;
		int fd = open(shared, O_RDONLY);

		if (fd < 0 || read(fd, &c, 1) != 1 || (c != 'A' && c != 's'))
			odd++;
		if (fd >= 0)
			(void)close(fd);
	}
	finish(thread);
	diff_say(" neither=%d", odd);
	diff_end(false);
}

static void create_both(void)
{
	pthread_t thread;
	int odd = 0;

	diff_begin("race create");
	thread = start("new-a", 4);
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open(shared, O_WRONLY | O_CREAT | O_EXCL, 0600), gone = 0;

		gone = (unlink("new-a") == 0) + (unlink("new-b") == 0);
		if (fd < 0 || gone != 1)
			odd++;
		if (fd >= 0)
			(void)close(fd); /* the file is gone */
	}
	finish(thread);
	diff_say(" odd=%d", odd);
	diff_end(true);
}

static void rename_both(void)
{
	pthread_t thread;
	int odd = 0;

	diff_begin("race rename");
	thread = start("to-a", 3);
	for (int i = 0; i < ROUNDS; i++) {
		int done = rename("file", shared);
		int back = (rename("to-a", "file") == 0) + (rename("to-b", "file") == 0);

		odd += done != 0 || back != 1;
	}
	finish(thread);
	diff_say(" odd=%d", odd);
	diff_end(true);
}

static void symlink_target(void)
{
	pthread_t thread;
	int odd = 0;

	diff_begin("race symlink-target");
	thread = start("target-a", 7);
	for (int i = 0; i < ROUNDS; i++) {
		char got[32] = "";

		if (symlink(shared, "sym") < 0 || readlink("sym", got, sizeof(got)) != 8 ||
		    strncmp(got, "target-", 7) || (got[7] != 'a' && got[7] != 'b') || unlink("sym") < 0)
			odd++;
	}
	finish(thread);
	diff_say(" odd=%d", odd);
	diff_end(true);
}

/* The directory is swapped for a link to another one while names below it are resolved. */
static void *swap(void *arg)
{
	(void)arg; /* nothing to say */
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		/* either name may lead */
		(void)renameat2(AT_FDCWD, "swap-dir", AT_FDCWD, "swap-link", RENAME_EXCHANGE);
	}
	return NULL;
}

static void swapped_directory(void)
{
	pthread_t thread;
	int odd = 0;

	diff_begin("race swapped-directory");
	diff_ret(mkdir("swap-dir", 0755) < 0 ? -errno : 0);
	make("swap-dir/sub", "D");
	diff_ret(symlink("dir", "swap-link") < 0 ? -errno : 0);
	atomic_store(&stop, false);
	if (pthread_create(&thread, NULL, swap, NULL) != 0)
		diff_die("pthread_create");
	for (int i = 0; i < ROUNDS; i++) {
		char c = 0;
		int fd = open("swap-dir/sub", O_RDONLY);

		if (fd < 0 || read(fd, &c, 1) != 1 || (c != 'D' && c != 's'))
			odd++;
		if (fd >= 0)
			(void)close(fd); /* read already */
	}
	finish(thread);
	diff_say(" odd=%d", odd);
	diff_remove_tree("swap-dir");
	diff_remove_tree("swap-link");
	diff_end(false);
}

void diff_group_race(void)
{
	open_both();
	create_both();
	rename_both();
	symlink_target();
	swapped_directory();
}
