/*
 * Fills a disk in one way: cases-fill WAY [MiB]. It stops after that many MiB (default 4096), so that a limit without
 * effect shows as an exit status of 0 and not as a full disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB (1024 * 1024)

static char block[MIB];
static long most = 4096;

static int must(int result, const char *what)
{
	if (result >= 0)
		return result;
	perror(what);
	exit(3);
}

static int make(const char *name)
{
	return must(open(name, O_RDWR | O_CREAT | O_TRUNC, 0644), name);
}

static void fill(int fd, long mib)
{
	for (long i = 0; i < mib; i++)
		if (write(fd, block, MIB) != MIB) {
			perror("write");
			exit(4);
		}
}

static void one_file(void)
{
	fill(make("big"), most);
}

/* Each is closed, and so looked at no more, when the next one grows. */
static void many_files(void)
{
	char name[32];

	for (long i = 0; i < most * 8; i++) {
		int fd;

		(void)snprintf(name, sizeof(name), "f%ld", i);
		fd = make(name);
		if (write(fd, block, MIB / 8) != MIB / 8)
			exit(4);
		(void)close(fd);
	}
}

static void unlinked(void)
{
	for (long i = 0; i < most; i++) {
		int fd = make("gone");

		must(unlink("gone"), "unlink");
		fill(fd, 1);
		if (i % 200 == 199) /* a table has an end: what is in flight is open as well */
			must(socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0, 0}), "socketpair");
	}
}

static void mapped(void)
{
	int fd = make("map");
	char *map;

	must(ftruncate(fd, most * MIB), "ftruncate");
	map = mmap(NULL, (size_t)most * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	for (long i = 0; map != MAP_FAILED && i < most; i++)
		memset(map + i * MIB, 'x', MIB);
}

/* Full and without a name, and neither open: only mapped, or only pinned. */
static void mapped_unlinked(void)
{
	for (long i = 0; i < most; i++) {
		int fd = make("map");

		fill(fd, 1);
		if (mmap(NULL, MIB, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			exit(4);
		(void)close(fd);
		must(unlink("map"), "unlink");
	}
}

static void pinned(void)
{
	for (long i = 0; i < most; i++) {
		int fd = make("pin");

		fill(fd, 1);
		(void)close(fd);
		must(open("pin", O_PATH), "open O_PATH");
		must(unlink("pin"), "unlink");
	}
}

static void allocated(void)
{
	int fd = make("alloc");

	for (long i = 0; i < most; i++)
		must(fallocate(fd, 1 /* FALLOC_FL_KEEP_SIZE */, i * MIB, MIB), "fallocate");
}

static void allocated_at_once(void)
{
	must(fallocate(make("alloc"), 1, 0, most * MIB), "fallocate");
}

static void directories(void)
{
	char name[32];

	for (long i = 0; i < most * 256; i++) {
		(void)snprintf(name, sizeof(name), "d%ld", i);
		must(mkdir(name, 0755), "mkdir");
	}
}

static void links(void)
{
	char name[260];

	(void)close(make("a"));
	for (long i = 0; i < most * 1024; i++) {
		(void)snprintf(name, sizeof(name), "%0200ld", i);
		must(i % 2 ? link("a", name) : symlink("a", name), "link");
	}
}

static void copied(void)
{
	int from = make("from"), to = make("to");

	fill(from, 1);
	for (long i = 0; i < most; i++) {
		off_t start = 0;

		must((int)copy_file_range(from, &start, to, NULL, MIB, 0), "copy_file_range");
	}
}

static void temporary(void)
{
	fill(must(open("/tmp", O_RDWR | O_TMPFILE, 0600), "O_TMPFILE"), most);
}

static void shared_memory(void)
{
	fill(make("/dev/shm/x"), most);
}

static void renamed(void)
{
	char name[32];

	for (long i = 0; i < most; i++) {
		int fd = make("new");

		(void)snprintf(name, sizeof(name), "r%ld", i);
		fill(fd, 1);
		must(rename("new", name), "rename");
		(void)close(fd);
	}
}

/* Half of it is refused: EFBIG, as natively. */
static void ignoring_signals(void)
{
	(void)signal(SIGXFSZ, SIG_IGN);
	one_file();
}

/* Waits until the supervisor looks seldom, then is quick. */
static void after_a_rest(void)
{
	int fd = make("big");

	(void)sleep(2);
	fill(fd, most);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fill)(void);
	} ways[] = {{"one", one_file},
		    {"many", many_files},
		    {"unlinked", unlinked},
		    {"mapped", mapped},
		    {"mapped-unlinked", mapped_unlinked},
		    {"pinned", pinned},
		    {"falloc", allocated},
		    {"falloc-once", allocated_at_once},
		    {"dirs", directories},
		    {"links", links},
		    {"copy", copied},
		    {"tmpfile", temporary},
		    {"shm", shared_memory},
		    {"rename", renamed},
		    {"ignore", ignoring_signals},
		    {"rest", after_a_rest}};

	memset(block, 'x', sizeof(block));
	if (argc > 2)
		most = strtol(argv[2], NULL, 10);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].fill();
			return 0;
		}
	return 2;
}
