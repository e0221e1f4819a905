#include "doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

/* Sets what a probe has found. error: errno, or 0. format: the explanation for the user. */
void finding_set_state(struct doctor *doctor, enum probe probe, enum finding_state state, int error, const char *format,
		       ...)
{
	struct finding *finding = &doctor->findings[probe];
	va_list arguments;

	va_start(arguments, format);
	/* A text longer than finding->explanation is cut. */
	(void)vsnprintf(finding->explanation, sizeof(finding->explanation), format, arguments);
	va_end(arguments);
	finding->error_number = error;
	finding->state = state;
}

void probe_set_failing(struct doctor *doctor, enum probe probe, int error, const char *what)
{
	finding_set_state(doctor, probe, FINDING_FAILS, error, "%s: %s", what, strerror(error));
}

/* Sleeps between two polls of a child. A pidfd would need no polling, but may not be available. */
static void probe_sleep_briefly(void)
{
	const struct timespec moment = {.tv_nsec = 200000};

	(void)nanosleep(&moment, NULL); /* a signal (EINTR) only shortens the pause */
}

int probe_wait_for_child(pid_t pid, unsigned timeout_ms, int *ret_status)
{
	uint64_t end = io_read_clock_ns() + (uint64_t)timeout_ms * 1000000;
	pid_t reaped;

	while ((reaped = waitpid(pid, ret_status, WNOHANG | __WALL)) == 0 && io_read_clock_ns() < end)
		probe_sleep_briefly();
	if (reaped == pid)
		return 0;
	if (reaped < 0)
		return -ECHILD;
	(void)kill(-pid, SIGKILL); /* the process group that the child leads, if any */
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, ret_status, __WALL);
	return -ETIMEDOUT;
}

const char *probe_name_signal(int wait_status)
{
	const char *name = sigabbrev_np(WTERMSIG(wait_status));

	return name ? name : "?";
}

void *probe_map_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

bool probe_await_change_of_word(const volatile int *word, int value, unsigned timeout_ms)
{
	uint64_t end = io_read_clock_ns() + (uint64_t)timeout_ms * 1000000;

	while (*word == value && io_read_clock_ns() < end)
		probe_sleep_briefly();
	return *word != value;
}

bool probe_read_first_line(const char *path, char *out, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, out, size - 1);

	if (len < 0)
		return false;
	out[len] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return true;
}

long probe_read_number(const char *path)
{
	char text[32];
	uint64_t number;

	if (!probe_read_first_line(path, text, sizeof(text)) || text_parse_number(text, 0, INT32_MAX, &number) < 0)
		return -1;
	return (long)number;
}
