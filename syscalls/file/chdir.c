#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/call.h"
#include "syscalls/call/native.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

/*
 * Where the kernel's names are the view's it may read the path a second time: a task that swaps it stands elsewhere in the
 * view, which grants nothing, because the cwd is mapped back into the view at every use. Elsewhere it would stand, and look
 * around by "/proc/self/cwd" and getcwd(2), anywhere on the host: it is led to the pinned directory by fchdir(2).
 */
static bool may_go_by_name(struct call *call, const struct stat *status)
{
	const struct place *place = &call->place[0];

	return view_is_root(call->sandbox->view) && !view_is_nameless(place) &&
	       native_same(call, AT_FDCWD, call->path[0].text, 0, status);
}

void sys_chdir(struct call *call)
{
	_cleanup_close_ int pin = file_pin(call, 0, POLICY_READ, VIEW_FOLLOW, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat status;

	if (pin < 0)
		return;
	if (fstat(pin, &status) < 0) {
		call_fail(call, -errno);
	} else if (may_go_by_name(call, &status)) {
		call_continue(call);
	} else if (access(file_link(pin).path, X_OK) < 0) {
		call_fail(call, -errno); /* fchdir(2) says the same, but has to be made for it */
	} else {
		call->outcome.kind = OUTCOME_PATHFD;
		call->outcome.fd = steal_fd(&pin);
	}
}
