/* The trial of Landlock (landlock(7)): enters a domain, in which an open and a signal must be denied. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/landlock.h"
#include "doctor/probe.h"

/* Enters a domain that restricts all rights, without exceptions. */
static int probe_enter_landlock_domain(int abi)
{
	const struct landlock_rights rights = landlock_get_rights_of_abi(abi);
	size_t size = abi >= 6   ? sizeof(rights)
		      : abi >= 4 ? offsetof(struct landlock_rights, scoped)
				 : offsetof(struct landlock_rights, net);
	_cleanup_close_ int fd = (int)syscall(SYS_landlock_create_ruleset, &rights, size, 0);

	if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return landlock_enter_domain(fd);
}

/* Says what an errno of Landlock's calls means for the user. */
static const char *probe_explain_landlock_errno(const struct doctor *doctor, int error)
{
	switch (error) {
	case EOPNOTSUPP:
		return "in the kernel but not switched on: \"landlock\" is not in its lsm= list";
	case ENOSYS:
		return doctor->traits & TRAIT_SECCOMP_FILTER
			       ? "not in the kernel (Linux 5.13, CONFIG_SECURITY_LANDLOCK), or a filter above hides it"
			       : "not in the kernel (Linux 5.13, CONFIG_SECURITY_LANDLOCK)";
	default:
		return "refused, by a filter above or another security module";
	}
}

/* Tries to enter a Landlock domain. */
void probe_landlock(struct doctor *doctor)
{
	int abi = landlock_get_abi();
	_cleanup_close_ int fd = -1;
	int error;

	if (abi == -EOPNOTSUPP && doctor->traits & TRAIT_IN_CALLGATE) {
		finding_set_state(doctor, PROBE_LANDLOCK, FINDING_FAILS, EACCES,
			    "a callgate run refuses it to its program, whose files come from the run's supervisor");
		return;
	}
	if (abi < 0) {
		finding_set_state(doctor, PROBE_LANDLOCK, FINDING_FAILS, -abi, "%s",
				  probe_explain_landlock_errno(doctor, -abi));
		return;
	}
	error = probe_enter_landlock_domain(abi);
	if (error < 0) {
		finding_set_state(doctor, PROBE_LANDLOCK, FINDING_FAILS, -error, "%s",
				  probe_explain_landlock_errno(doctor, -error));
		return;
	}
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		finding_set_state(doctor, PROBE_LANDLOCK, FINDING_FAILS, EACCES,
				  "a domain was entered but refuses nothing");
	else if (abi >= 6 && (kill(getppid(), 0) == 0 || errno != EPERM))
		finding_set_state(doctor, PROBE_LANDLOCK, FINDING_FAILS, EPERM,
				  "a domain was entered but lets signals out");
	else
		finding_set_state(doctor, PROBE_LANDLOCK, FINDING_WORKS, 0, "ABI %d: files%s are refused%s", abi,
			    abi >= 6   ? ", TCP, signals and abstract sockets"
			    : abi >= 4 ? " and TCP"
				       : "",
			    abi >= 6 ? "" : "; signals only by the supervisor (ABI 6, Linux 6.12)");
}
