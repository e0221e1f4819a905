/* What a front's socket or terminal has not taken yet. */
#include <errno.h>
#include <string.h>

#include "approval/private.h"

int approver_add_output(struct approver *approver, const char *text, const char *end)
{
	if (approver->output.len + strlen(text) + strlen(end) > APPROVER_OUTPUT_BYTES_MAX)
		return -ENOBUFS;
	buf_puts(&approver->output, text);
	buf_puts(&approver->output, end);
	return approver->output.failed ? -ENOMEM : 0;
}
