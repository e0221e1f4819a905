/* Counts the uses of the policy's redirects, for the result: one entry for each mount and kind of access. */
#ifndef CALLGATE_SUPERVISOR_REDIRECTS_H
#define CALLGATE_SUPERVISOR_REDIRECTS_H

#include <stddef.h>
#include <stdint.h>

#include "syscalls/call/call.h"

#define REDIRECTS_MAX 64 /* further ones are not counted */

struct redirect {
	const struct mount *mount; /* borrowed from the view */
	const char *op;		   /* static; as in a denial */
	uint64_t count;
};

/* Zero-initialise. */
struct redirects {
	struct redirect item[REDIRECTS_MAX];
	size_t count;
};

/* Counts a judged call if it was allowed and one of its paths lies in a redirected mount. */
void redirects_note(struct redirects *redirects, const struct call *call);

#endif
