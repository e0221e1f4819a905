/* Capabilities for as long as the namespaces are being made. */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/privs.h"

#include "base/banned.h"

static int read_capabilities(struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, data) < 0 ? -errno : 0;
}

bool privs_have(int cap)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return read_capabilities(data) == 0 && data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

int privs_keep(const struct privs_user *user, const int *caps, size_t count, bool lock)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3], keep[_LINUX_CAPABILITY_U32S_3];
	int r;

	(void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0); /* fails where it is locked off: there is nothing to keep then */
	r = privs_become(user);
	(void)prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	if (r == 0)
		r = read_capabilities(data);
	if (r < 0)
		return r;
	if (lock)
		privs_lock(); /* what is kept may be without the capability for that */
	memset(keep, 0, sizeof(keep));
	for (size_t i = 0; i < count; i++) {
		keep[CAP_TO_INDEX(caps[i])].permitted |= CAP_TO_MASK(caps[i]) & data[CAP_TO_INDEX(caps[i])].permitted;
		keep[CAP_TO_INDEX(caps[i])].effective = keep[CAP_TO_INDEX(caps[i])].permitted;
	}
	return syscall(SYS_capset, &header, keep) < 0 ? -errno : 0;
}
