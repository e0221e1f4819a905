/* "judge": "changes": whether the kernel's answers to calls that only read are those of the view. */
#include "view/private.h"

int view_prepare_kernel_reads(struct view *view, const char **ret_reason)
{
	(void)view;
	*ret_reason = "not built yet";
	return 1;
}

bool view_kernel_judges_reads(const struct view *view)
{
	(void)view;
	return false;
}
