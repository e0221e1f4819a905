#include "supervisor/redirects.h"

#include <string.h>

#include "syscalls/account/denial-text.h"

#include "base/banned.h"

static void redirects_count(struct redirects *redirects, const struct mount *mount, const char *op)
{
	size_t i;

	for (i = 0; i < redirects->count; i++)
		if (redirects->item[i].mount == mount && strcmp(redirects->item[i].op, op) == 0)
			break;
	if (i == REDIRECTS_MAX)
		return;
	if (i == redirects->count)
		redirects->item[redirects->count++] = (struct redirect){.mount = mount, .op = op};
	redirects->item[i].count++;
}

void redirects_note(struct redirects *redirects, const struct call *call)
{
	if (call->decision.verdict == VERDICT_DENY)
		return;
	for (unsigned i = 0; i < call->paths; i++) {
		const struct mount *mount = call->place[i].mount;

		if (mount && mount->flags & MOUNT_REDIRECT)
			redirects_count(redirects, mount, denial_op(call));
	}
}
