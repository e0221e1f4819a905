#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/cpu/private.h"

#include "base/banned.h"

#define CALL_NS (5 * US) /* so long each waits after a call until we wait, too */

static int open_schedstat(pid_t tid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* How long its task waited for a CPU in its life: the second number. The third is how often it had one; 0: nobody counts. */
static bool read_waited(int fd, uint64_t *ret_ns)
{
	char text[96], *end;
	ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return false;
	text[len] = '\0';
	(void)strtoull(text, &end, 10);
	*ret_ns = strtoull(end, &end, 10);
	return strtoull(end, NULL, 10) > 0;
}

/*
 * To open it takes longer than to read it. It is the task's and not its number's: when that has died nothing can be read,
 * and who has the number then is looked at.
 */
static bool waited(struct caller *caller, uint64_t *ret_ns)
{
	if (caller->fd >= 0 && read_waited(caller->fd, ret_ns))
		return true;
	cleanup_close(&caller->fd);
	caller->fd = open_schedstat(caller->tid);
	return read_waited(caller->fd, ret_ns);
}

/* In its place there is another, or nobody. */
static void set_caller(struct caller *caller, pid_t tid)
{
	cleanup_close(&caller->fd);
	*caller = (struct caller){.tid = tid, .called = tid > 0, .fd = -1};
}

bool callers_init(struct callers *callers)
{
	_cleanup_close_ int fd = open_schedstat(getpid());
	uint64_t ns;

	for (unsigned i = 0; i < CALLERS_MAX; i++)
		callers->caller[i].fd = -1;
	return read_waited(fd, &ns);
}

void callers_note(struct callers *callers, pid_t tid)
{
	struct caller *caller = NULL;

	for (unsigned i = 0; i < CALLERS_MAX; i++) {
		if (callers->caller[i].tid == tid) {
			callers->caller[i].called = true;
			return;
		}
		if (!callers->caller[i].called)
			caller = &callers->caller[i];
	}
	if (!caller)
		return;
	set_caller(caller, tid);
	if (tid <= callers->since)
		(void)waited(caller, &caller->waited_ns); /* before that it was none of our doing */
}

uint64_t callers_waited(struct callers *callers, unsigned calls)
{
	uint64_t total_ns = 0, ours_ns = calls * CALL_NS, now;

	for (unsigned i = 0; i < CALLERS_MAX; i++) {
		struct caller *caller = &callers->caller[i];

		if (!caller->called)
			continue;
		caller->called = false;
		if (!waited(caller, &now) || now < caller->waited_ns)
			continue;
		total_ns += now - caller->waited_ns;
		caller->waited_ns = now;
	}
	return total_ns > ours_ns ? total_ns - ours_ns : 0;
}

void callers_forget(struct callers *callers)
{
	for (unsigned i = 0; i < CALLERS_MAX; i++)
		set_caller(&callers->caller[i], 0);
}
