/*
 * Processes, or threads, each of which makes the next one and ends at once, while a file that fires after_read is read.
 * They write to OUT as long as they can. Prints whether the secret was given, and whether OUT grew after that.
 *
 *   cases-fork-chain fork|thread CHAINS SECRET OUT
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int out;
static atomic_bool *over; /* shared by all processes */

static void write_and_fork(void)
{
	while (!*over) {
		pid_t child = fork();

		if (child > 0) {
			(void)!write(out, "w", 1);
			_exit(0);
		}
	}
	_exit(0);
}

static void *write_and_start_thread(void *unused)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	while (!*over && pthread_create(&thread, &attributes, write_and_start_thread, NULL) != 0)
		continue;
	(void)!write(out, "w", 1);
	return unused;
}

static void begin_chain(bool threads)
{
	if (fork() != 0)
		return;
	if (!threads)
		write_and_fork();
	(void)write_and_start_thread(NULL);
	pthread_exit(NULL);
}

static off_t size_of_out(void)
{
	struct stat status;

	return fstat(out, &status) < 0 ? -1 : status.st_size;
}

int main(int argc, char **argv)
{
	char text[16];
	off_t before;
	int secret;

	if (argc != 5)
		return 2;
	over = mmap(NULL, sizeof(*over), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	out = open(argv[4], O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (over == MAP_FAILED || out < 0 || signal(SIGCHLD, SIG_IGN) == SIG_ERR)
		return 2;
	for (long i = strtol(argv[2], NULL, 10); i > 0; i--)
		begin_chain(strcmp(argv[1], "thread") == 0);
	while (size_of_out() < 20)
		(void)usleep(1000);
	secret = open(argv[3], O_RDONLY | O_CLOEXEC);
	if (secret < 0 || read(secret, text, sizeof(text)) <= 0)
		secret = -1;
	/* The descriptor may have been taken from this process: a look by name. */
	out = open(argv[4], O_RDONLY | O_CLOEXEC);
	before = size_of_out();
	(void)usleep(200000);
	printf("given: %d grown: %d\n", secret >= 0, size_of_out() != before);
	*over = true;
	return 0;
}
