#include "supervisor/gateway/lockdown.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/descriptors.h"
#include "confine/landlock.h"
#include "confine/selffilter.h"
#include "supervisor/environment.h"

#define LOCKDOWN_KEPT_VARIABLES_MAX 4 /* environment variables that egress may keep */

int lockdown_build_domain(unsigned role, bool self_filter, bool landlock, struct egress_sandbox *ret_lockdown)
{
	const char *why;
	/* With a sanitizer there is no Landlock domain, because the sanitizer reads /proc to find leaks. */
	int abi = landlock && selffilter_works_in_this_build(&why) ? landlock_get_abi() : -EOPNOTSUPP;

	*ret_lockdown = (struct egress_sandbox){.role = role, .self_filter = self_filter, .landlock_fd = -1};
	if (abi < 0)
		return 0;
	ret_lockdown->landlock_fd = landlock_build_egress_ruleset(abi, role == SELF_RESOLVER);
	return ret_lockdown->landlock_fd < 0 ? ret_lockdown->landlock_fd : 0;
}

void lockdown_release(struct egress_sandbox *lockdown)
{
	close_fd(&lockdown->landlock_fd);
}

/* Resets signals. Terminal signals are for the keeper, in another session. Others end the process. */
static void lockdown_reset_signals(void)
{
	sigset_t none;

	(void)setsid(); /* cannot fail: a forked child leads no process group */
	for (int number = 1; number < _NSIG; number++)
		(void)signal(number, SIG_DFL); /* EINVAL for SIGKILL, SIGSTOP and glibc's own signals */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* No core dumps, and as many descriptors as permitted. */
static int lockdown_set_limits(void)
{
	static const struct rlimit one_byte = {1, 1}, no_core = {0, 0}; /* as in launch.c */
	struct rlimit files;

	if (setrlimit(RLIMIT_CORE, &one_byte) < 0 && setrlimit(RLIMIT_CORE, &no_core) < 0)
		return -errno;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	files.rlim_cur = files.rlim_max; /* a connection needs two descriptors */
	return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : 0;
}

/* Clears the environment but for these variables, as it may have secrets. */
static int lockdown_clear_other_variables(const char *const *variables)
{
	char *value[LOCKDOWN_KEPT_VARIABLES_MAX] = {NULL};
	int error = 0;

	for (size_t i = 0; i < LOCKDOWN_KEPT_VARIABLES_MAX && variables[i]; i++) {
		const char *there = getenv(variables[i]);

		value[i] = there ? strdup(there) : NULL;
	}
	environment_wipe_own();
	for (size_t i = 0; i < LOCKDOWN_KEPT_VARIABLES_MAX && variables[i]; i++) {
		if (value[i] && setenv(variables[i], value[i], 1) < 0)
			error = -ENOMEM;
		free(value[i]);
	}
	return error;
}

int lockdown_drop_privileges(const struct egress_sandbox *lockdown, const struct privs_user *user, pid_t parent,
		   const char *const *variables, int *keep, size_t count)
{
	int error;

	lockdown_reset_signals();
	error = lockdown_set_limits();
	if (error == 0)
		error = privs_become_user(user);
	if (error == 0)
		error = privs_drop_all();
	/* Set after the last change of credentials, which resets both. */
	if (error == 0 && (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0))
		error = -errno;
	if (error == 0 && getppid() != parent)
		error = -ESRCH;
	if (error == 0)
		error = lockdown_clear_other_variables(variables);
	/* Without the filter, as in a build with a sanitizer, standard error is kept for the sanitizer. */
	descriptors_detach_stdio(!lockdown->self_filter);
	descriptors_close_all_but(keep, count);
	return error;
}

int lockdown_enter_sandbox(void *ctx)
{
	struct egress_sandbox *lockdown = ctx;
	int error = lockdown->landlock_fd < 0 ? 0 : landlock_enter_domain(lockdown->landlock_fd);

	lockdown_release(lockdown);
	if (error == 0 && lockdown->self_filter)
		error = selffilter_install(lockdown->role);
	return error;
}
