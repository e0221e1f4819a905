#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "syscalls/call.h"
#include "syscalls/file.h"
#include "syscalls/handlers.h"
#include "syscalls/native.h"

#include "base/banned.h"

/*
 * Grants nothing: wherever the program ends up, its cwd is mapped back into the view at every use. So the kernel may read
 * the path a second time, and a task that swaps it merely stands where no relative path resolves.
 */
static void chdir_detour(struct call *call)
{
	char host[PATH_MAX];
	int r = view_host(&call->place[0], host, sizeof(host));

	if (r < 0) {
		call_fail(call, r);
		return;
	}
	call->outcome.host = strdup(host);
	if (!call->outcome.host) {
		call_fail(call, -ENOMEM);
		return;
	}
	call->outcome.kind = OUTCOME_CHDIR;
}

void sys_chdir(struct call *call)
{
	_cleanup_close_ int pin = file_pin(call, 0, POLICY_READ, VIEW_FOLLOW, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (pin < 0)
		return;
	if (fstat(pin, &st) < 0) {
		call_fail(call, -errno);
		return;
	}
	if (view_is_nameless(&call->place[0])) {
		call->outcome.kind = OUTCOME_PATHFD;
		call->outcome.fd = steal_fd(&pin);
	} else if (native_same(call, AT_FDCWD, call->path[0].text, 0, &st)) {
		call_continue(call);
	} else {
		chdir_detour(call);
	}
}
