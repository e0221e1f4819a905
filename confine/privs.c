#include "confine/privs.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"

#define SECUREBITS_LOCKED                                                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | \
	 SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/*
 * The bounding set ends where the kernel says EINVAL: its last capability is not known at compile time. Without
 * CAP_SETPCAP nothing can be dropped, and no_new_privs does it alone.
 */
void privs_drop_bounding_set(void)
{
	int held;

	if (!privs_have(CAP_SETPCAP))
		return;
	for (int cap = 0; (held = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
		if (held)
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	memset(data, 0, sizeof(data));
	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	memset(data, 0xff, sizeof(data));
	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if (data[i].effective | data[i].permitted | data[i].inheritable)
			return -EPERM;
	return 0;
}

void privs_lock(void)
{
	privs_drop_bounding_set();
	/*
	 * Both need CAP_SETPCAP, which an ordinary user lacks; without capabilities there is nothing for them to
	 * lock.
	 */
	(void)prctl(PR_SET_SECUREBITS, SECUREBITS_LOCKED, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

int privs_drop(void)
{
	privs_lock();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return drop_capabilities();
}
