#include "doctor/examine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/filter.h"
#include "confine/privs.h"
#include "confine/selffilter.h"
#include "doctor/probe.h"
#include "supervisor/limits/killtree.h"

#define TRIAL_TIMEOUT_MS 12000 /* more than two steps may take */
#define TRIAL_KILL_TIMEOUT_MS 5000

#define PROBE_NAME_OF_LIST(name, text) text, /* makes the name in reports of an entry of FOR_EACH_PROBE */

const char *probe_get_name(enum probe probe)
{
	static const char *const names[PROBE_MAX] = {FOR_EACH_PROBE(PROBE_NAME_OF_LIST)};

	return names[probe];
}

const char *finding_get_state_name(enum finding_state state)
{
	static const char *const words[FINDING_STATE_MAX] = {
		[FINDING_NOT_REPORTED] = "unknown",
		[FINDING_WORKS] = "works",
		[FINDING_FAILS] = "lacks",
		[FINDING_WORKS_WITH_CAVEAT] = "warns",
	};

	return words[state];
}

/* A trial of `callgate doctor`, which runs in a child process. */
struct trial {
	enum probe first_probe, last_probe; /* the first and last probe that the trial reports */
	void (*run)(struct doctor *doctor);
	bool drops_privileges; /* run the trial without privileges, as callgate run would */
};

static const struct trial trials[] = {
	{PROBE_KERNEL, PROBE_KERNEL, probe_kernel, true},
	{PROBE_FILTER, PROBE_FILTER, probe_seccomp_filter, true},
	{PROBE_LISTENER, PROBE_LISTENER, probe_seccomp_listener, true},
	{PROBE_OUTER, PROBE_OUTER, probe_outer_filter, true},
	{PROBE_MEMORY, PROBE_MEMORY, probe_target_memory, true},
	{PROBE_TRACE, PROBE_TRACE, probe_ptrace, true},
	{PROBE_BENEATH, PROBE_BENEATH, probe_resolve_beneath, true},
	{PROBE_LANDLOCK, PROBE_LANDLOCK, probe_landlock, true},
	{PROBE_USERNS, PROBE_COW, probe_namespaces, false},
	{PROBE_CGROUPS, PROBE_CGROUPS, probe_cgroups, false},
	{PROBE_PROC, PROBE_PROC, probe_procfs, true},
	{PROBE_LASTPID, PROBE_LASTPID, probe_last_pid, true},
	{PROBE_SCRATCH, PROBE_SCRATCH, probe_scratch_base, false},
	{PROBE_CORE, PROBE_CORE, probe_core_pattern, false},
	{PROBE_LIBRARIES, PROBE_LIBRARIES, probe_libraries, true},
};

/* The child of a trial: examines, with or without privileges, and dies with its parent. */
static _Noreturn void doctor_run_trial_child(struct doctor *doctor, const struct trial *trial, pid_t parent)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpgid(0, 0); /* its own process group: a hanging trial is killed together with its children */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
		_exit(1);
	if (trial->drops_privileges && privs_drop_all() < 0)
		_exit(1);
	trial->run(doctor);
	_exit(0);
}

/* Reports the probes that a trial has not reported before it ended. */
static void doctor_report_unreported_probes(struct doctor *doctor, const struct trial *trial, int ended, int status)
{
	for (enum probe probe = trial->first_probe; probe <= trial->last_probe; probe++) {
		if (doctor->findings[probe].state != FINDING_NOT_REPORTED)
			continue;
		if (ended == -ETIMEDOUT)
			finding_set_state(doctor, probe, FINDING_FAILS, ETIMEDOUT, "the trial hung and was killed");
		else if (ended == 0 && WIFSIGNALED(status))
			finding_set_state(doctor, probe, FINDING_FAILS, EPERM, "the trial was killed by SIG%s",
					  probe_name_signal(status));
		else
			finding_set_state(doctor, probe, FINDING_FAILS, ECHILD, "the trial could not be made");
	}
}

/* Runs a trial in a child process, and waits. Probes that it did not report are reported as failed. */
static void doctor_fork_trial(struct doctor *doctor, const struct trial *trial)
{
	pid_t parent = getpid(), pid = fork();
	int status = 0, ended;

	if (pid == 0)
		doctor_run_trial_child(doctor, trial, parent);
	ended = pid < 0 ? -ECHILD : probe_wait_for_child(pid, TRIAL_TIMEOUT_MS, &status);
	doctor_report_unreported_probes(doctor, trial, ended, status);
	/* Kills processes that the trial left behind. */
	(void)killtree(TRIAL_KILL_TIMEOUT_MS, __WALL);
}

static bool doctor_probe_works(const struct doctor *doctor, enum probe probe)
{
	return doctor->findings[probe].state == FINDING_WORKS ||
	       doctor->findings[probe].state == FINDING_WORKS_WITH_CAVEAT;
}

enum probe doctor_find_missing_need(const struct doctor *doctor)
{
	static const enum probe needed[] = {PROBE_OUTER, PROBE_FILTER,  PROBE_LISTENER, PROBE_MEMORY,
					    PROBE_TRACE, PROBE_BENEATH, PROBE_PROC,     PROBE_SCRATCH};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!doctor_probe_works(doctor, needed[i]))
			return needed[i];
	return PROBE_MAX;
}

bool doctor_can_run(const struct doctor *doctor)
{
	return doctor_find_missing_need(doctor) == PROBE_MAX;
}

enum probe doctor_get_layer_probe(enum layer layer)
{
	static const enum probe probes[LAYER_OFFERED_BY_MACHINE_MAX] = {
		[LAYER_SECCOMP] = PROBE_LISTENER,    [LAYER_NO_NEW_PRIVS] = PROBE_FILTER,
		[LAYER_CAPABILITIES] = PROBE_KERNEL, [LAYER_LANDLOCK] = PROBE_LANDLOCK,
		[LAYER_SELF_FILTER] = PROBE_FILTER,  [LAYER_USERNS] = PROBE_USERNS,
		[LAYER_MOUNTNS] = PROBE_MOUNTNS,     [LAYER_PIDNS] = PROBE_PIDNS,
		[LAYER_IPCNS] = PROBE_IPCNS,         [LAYER_UTSNS] = PROBE_UTSNS,
		[LAYER_NETNS] = PROBE_NETNS,         [LAYER_CGROUPNS] = PROBE_CGROUPNS,
		[LAYER_CGROUPS] = PROBE_CGROUPS,
	};

	return probes[layer];
}

/* Derives from the probes which sandbox layers a run should have here. */
static void doctor_set_expected_layers(struct doctor *doctor)
{
	const char *why;

	for (enum layer layer = 0; layer < LAYER_OFFERED_BY_MACHINE_MAX; layer++)
		if (doctor_probe_works(doctor, doctor_get_layer_probe(layer)))
			doctor->expected_layers |= LAYER_BIT(layer);
	/* Removes layers that this build does not have. */
	if (!selffilter_works_in_this_build(&why))
		doctor->expected_layers &= ~LAYER_BIT(LAYER_SELF_FILTER);
	if (filter_allows_all_calls())
		doctor->expected_layers &= ~LAYER_BIT(LAYER_SECCOMP);
	/* A pid namespace needs a new procfs. */
	if (!doctor_probe_works(doctor, PROBE_FRESHPROC) || !doctor_probe_works(doctor, PROBE_MOUNTNS))
		doctor->expected_layers &= ~LAYER_BIT(LAYER_PIDNS);
}

struct doctor *doctor_run_all_trials(void)
{
	struct doctor *doctor = mmap(NULL, sizeof(*doctor), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (doctor == MAP_FAILED)
		return NULL;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* on failure, children of killed trials are left */
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		doctor_fork_trial(doctor, &trials[i]);
	doctor_set_expected_layers(doctor);
	return doctor;
}

void doctor_free(struct doctor *doctor)
{
	if (doctor)
		(void)munmap(doctor, sizeof(*doctor));
}
