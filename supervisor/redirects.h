/* Which redirections of the policy the run used, for the result: one entry a mount and kind of access. */
#ifndef CALLGATE_SUPERVISOR_REDIRECTS_H
#define CALLGATE_SUPERVISOR_REDIRECTS_H

#include <stddef.h>
#include <stdint.h>

#include "syscalls/call/call.h"

#define REDIRECTS_MAX 64 /* further ones are judged and recorded like any, but not summed up */

struct redirect {
	const struct mount *mount; /* borrowed from the view */
	const char *op;		   /* static; as a denial's */
	uint64_t count;
};

/* Zero-initialise. */
struct redirects {
	struct redirect item[REDIRECTS_MAX];
	size_t count;
};

/* After a call was judged: counts it when it was allowed and one of its paths lies in a redirected mount. */
void redirects_note(struct redirects *redirects, const struct call *call);

#endif
