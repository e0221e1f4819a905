/* Advice on what is missing, in the exact words for the container runtime, kernel or service manager in use. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/doctor/doctor.h"

/* traits of a machine where callgate itself runs in a sandbox that settings of the container do not change */
#define TRAITS_NESTED (TRAIT_SECCOMP_LISTENER | TRAIT_GVISOR)
#define TRAITS_CONFINED (TRAITS_CONTAINER | TRAIT_SECCOMP_FILTER) /* traits of a machine that is confined itself */

/* One piece of advice. It is given when a probe in `probes` found its feature missing and all conditions hold. */
struct advice {
	const char *title;    /* what to change, in a few words */
	enum probe probes[5]; /* the list ends at PROBE_KERNEL, which needs no advice */
	/* traits of the machine: it has one of required_traits (0: not required) and none of excluded_traits */
	unsigned required_traits, excluded_traits;
	int required_errno; /* errno with which the first probe in `probes` must have failed; 0: any */
	bool (*applies)(const struct doctor *doctor); /* NULL: always */
	/* writes text in front of `text`; NULL: nothing */
	void (*write_prefix)(const struct doctor *doctor, struct buf *text);
	const char *text;
	/* advice for each container runtime; all three texts are used if no runtime was recognised */
	const char *docker, *podman, *kubernetes;
	const char *service; /* advice for a systemd service, used in one, and if no runtime was recognised */
};

static bool advice_probe_failed(const struct doctor *doctor, enum probe probe)
{
	return doctor->findings[probe].state == FINDING_FAILS;
}

/* Whether the probe failed with an errno by which filters refuse calls: EPERM, EACCES or ENOSYS. */
static bool advice_probe_is_refused(const struct doctor *doctor, enum probe probe)
{
	int error = doctor->findings[probe].error_number;

	return advice_probe_failed(doctor, probe) && (error == EPERM || error == EACCES || error == ENOSYS);
}

/*
 * Whether a probe's errno, a refused pidfd_getfd(2) or a filter that kills shows a seccomp filter that refuses
 * callgate's calls.
 */
static bool advice_seccomp_refuses_call(const struct doctor *doctor)
{
	static const enum probe probes[] = {PROBE_LISTENER, PROBE_MEMORY, PROBE_TRACE, PROBE_LANDLOCK, PROBE_USERNS};

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (advice_probe_is_refused(doctor, probes[i]))
			return true;
	return doctor->pidfd_getfd_is_refused || doctor->traits & TRAIT_SECCOMP_FILTER_KILLS;
}

static void advice_write_seccomp_profile(const struct doctor *doctor, struct buf *text)
{
	buf_puts(text, "Let the container's seccomp profile allow what callgate uses. Take the runtime's own profile\n"
		       "(Docker: https://github.com/moby/profiles, seccomp/default.json; Podman:\n"
		       "/usr/share/containers/seccomp.json), add this to its \"syscalls\", save it as callgate.json:\n"
		       "  {\"action\": \"SCMP_ACT_ALLOW\", \"names\": [");
	if (advice_probe_is_refused(doctor, PROBE_USERNS))
		buf_puts(text,
			 "\"clone\", \"unshare\", \"mount\", \"umount2\", \"pivot_root\", \"chroot\",\n    \"fsopen\", "
			 "\"fsconfig\", \"fsmount\", \"open_tree\", \"move_mount\", \"mount_setattr\",\n    ");
	if (advice_probe_is_refused(doctor, PROBE_LANDLOCK))
		buf_puts(text, "\"landlock_create_ruleset\", \"landlock_add_rule\", \"landlock_restrict_self\",\n    ");
	buf_puts(text, "\"seccomp\", \"ptrace\", \"process_vm_readv\",\n    \"process_vm_writev\", \"pidfd_open\", "
		       "\"pidfd_send_signal\", \"pidfd_getfd\"]}\n");
}

/*
 * Mount and pid namespaces work: a new /proc that cannot be mounted is then refused because the present one is partly
 * covered.
 */
static bool advice_proc_is_masked(const struct doctor *doctor)
{
	return !advice_probe_failed(doctor, PROBE_MOUNTNS) && !advice_probe_failed(doctor, PROBE_PIDNS);
}

/* A /proc with hidepid only has a caveat, and needs no other one in its place. */
static bool advice_proc_is_missing(const struct doctor *doctor)
{
	return advice_probe_failed(doctor, PROBE_PROC);
}

static bool advice_only_last_pid_is_missing(const struct doctor *doctor)
{
	return !advice_proc_is_missing(doctor);
}

static void advice_write_apparmor(const struct doctor *doctor, struct buf *text)
{
	char path[PATH_MAX] = "/usr/bin/callgate";
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)doctor;
	if (len > 0)
		path[len] = '\0';
	buf_puts(text,
		 "Ubuntu (23.10 and later) gives user namespaces only to programs with an AppArmor profile.\n"
		 "Write this to /etc/apparmor.d/callgate, then: sudo apparmor_parser -r /etc/apparmor.d/callgate\n"
		 "  abi <abi/4.0>,\n"
		 "  include <tunables/global>\n");
	buf_printf(text,
		   "  profile callgate \"%s\" flags=(unconfined) {\n"
		   "    userns,\n"
		   "    include if exists <local/callgate>\n"
		   "  }\n",
		   path);
}

static void advice_write_cgroups(const struct doctor *doctor, struct buf *text)
{
	if (doctor->traits & TRAIT_SYSTEMD)
		buf_puts(text, "Let systemd delegate a group to it (cgroup version 2):\n"
			       "  systemd-run --user --scope -p Delegate=yes -- callgate run ...\n"
			       "  in a service: Delegate=yes\n");
	else
		buf_puts(text,
			 "As root, make a group that you may write, and start callgate in it (version 2, mounted at\n"
			 "/sys/fs/cgroup; with version 1 the same in memory, pids and cpuacct):\n"
			 "  mkdir -p /sys/fs/cgroup/callgate/shell && chown -R USER /sys/fs/cgroup/callgate\n"
			 "  echo SHELL-PID > /sys/fs/cgroup/callgate/shell/cgroup.procs\n");
	if (geteuid() != 0)
		buf_puts(text, "Root needs none of this.\n");
}

#define ADVICE_TO_SET_SYSCTL(setting) \
	"On the host, as root; the second line makes it permanent:\n  sysctl -w " setting "\n  echo " setting \
	" > /etc/sysctl.d/50-callgate.conf\n"

static const struct advice advices[] = {
	{.title = "one listener only",
	 .probes = {PROBE_LISTENER},
	 .required_traits = TRAIT_IN_CALLGATE,
	 .text = "This is a program of a callgate run. Start callgate outside of it: runs do not nest,\n"
		 "because the kernel allows one listener. One run may start any number of programs.\n"},
	{.title = "one listener only",
	 .probes = {PROBE_LISTENER},
	 .required_traits = TRAIT_SECCOMP_LISTENER,
	 .excluded_traits = TRAIT_IN_CALLGATE,
	 .text = "The kernel allows one listener. Start callgate outside of the sandbox that has it:\n"
		 "another callgate, or a container whose system calls an agent handles.\n"
		 "Without the agent's notifier:\n"
		 "  Docker, Podman: a seccomp profile without \"listenerPath\" and SCMP_ACT_NOTIFY\n"
		 "  LXD, Incus:     lxc config set NAME security.syscalls.intercept.mknod=false (and the others)\n"},
	{.title = "gVisor",
	 .probes = {PROBE_LISTENER},
	 .required_traits = TRAIT_GVISOR,
	 .text = "gVisor's kernel has no seccomp listener. Use another runtime for this container:\n"
		 "  Docker:     docker run --runtime=runc ...\n"
		 "  Kubernetes: runtimeClassName of a runc or Kata class\n"},
	{.title = "WSL",
	 .probes = {PROBE_LISTENER, PROBE_LANDLOCK, PROBE_CGROUPS},
	 .required_traits = TRAIT_WSL,
	 .text = "In Windows: wsl --set-version DISTRIBUTION 2 (version 1 has no seccomp listener), and wsl "
		 "--update for\n"
		 "a newer kernel. For control groups: [boot] systemd=true in /etc/wsl.conf, and in .wslconfig\n"
		 "  [wsl2]\n"
		 "  kernelCommandLine = cgroup_no_v1=all\n"
		 "then wsl --shutdown.\n"},
	{.title = "seccomp profile",
	 .probes = {PROBE_LISTENER, PROBE_TRACE, PROBE_LANDLOCK, PROBE_USERNS, PROBE_OUTER},
	 .required_traits = TRAIT_SECCOMP_FILTER,
	 .excluded_traits = TRAITS_NESTED | TRAIT_FLATPAK,
	 .applies = advice_seccomp_refuses_call,
	 .write_prefix = advice_write_seccomp_profile,
	 .docker = "  Docker:     docker run --security-opt seccomp=callgate.json --security-opt "
		   "apparmor=unconfined ...\n",
	 .podman = "  Podman:     podman run --security-opt seccomp=callgate.json ...\n",
	 .kubernetes = "  Kubernetes: put it into /var/lib/kubelet/seccomp/ of the nodes; in the container's\n"
		       "    securityContext: {seccompProfile: {type: Localhost, localhostProfile: callgate.json},\n"
		       "                      appArmorProfile: {type: Unconfined}}\n",
	 .service = "  systemd:    in the service's unit, instead of a profile:\n"
		    "    SystemCallErrorNumber=EPERM\n"
		    "    SystemCallFilter=@system-service @mount seccomp ptrace pidfd_getfd\n"
		    "    SystemCallFilter=landlock_create_ruleset landlock_add_rule landlock_restrict_self\n"},
	{.title = "Flatpak",
	 .probes = {PROBE_TRACE},
	 .required_traits = TRAIT_FLATPAK,
	 .text = "Flatpak refuses ptrace(2) to an application that is not for developers:\n"
		 "  flatpak run --allow=devel ... (for good: flatpak override --user --allow=devel APPLICATION)\n"},
	{.title = "ptrace_scope",
	 .probes = {PROBE_MEMORY, PROBE_TRACE},
	 .required_traits = TRAIT_YAMA_RESTRICTS_PTRACE,
	 .text = "callgate traces its own descendants, which Yama allows up to ptrace_scope 1. On the host, as root:\n"
		 "  sysctl -w kernel.yama.ptrace_scope=1\n"
		 "A scope of 3 stays until the next boot: look for it in /etc/sysctl.d and the kernel's command "
		 "line.\n"},
	{.title = "scratch space",
	 .probes = {PROBE_SCRATCH},
	 .text = "Name a directory of your own on a local file system with free space: TMPDIR=/var/tmp callgate ...\n"
		 "It may be mounted noexec.\n"},
	{.title = "/proc",
	 .probes = {PROBE_PROC},
	 .applies = advice_proc_is_missing,
	 .text = "  mount -t proc proc /proc\n"},
	{.title = "the newest pid",
	 .probes = {PROBE_LASTPID},
	 .applies = advice_only_last_pid_is_missing,
	 .text = "Policies with after_read or limits.disk use it. As root in a container where lxcfs covers the file:\n"
		 "  umount /proc/loadavg\n"
		 "Elsewhere a kernel with CONFIG_CHECKPOINT_RESTORE has /proc/sys/kernel/ns_last_pid.\n"},
	{.title = "Landlock",
	 .probes = {PROBE_LANDLOCK},
	 .required_errno = EOPNOTSUPP,
	 .text = "Add landlock to the kernel's command line, in front of what /sys/kernel/security/lsm lists:\n"
		 "  GRUB_CMDLINE_LINUX=\"lsm=landlock,yama,apparmor,bpf\" in /etc/default/grub, then "
		 "update-grub, reboot\n"},
	{.title = "Landlock",
	 .probes = {PROBE_LANDLOCK},
	 .excluded_traits = TRAIT_SECCOMP_FILTER | TRAIT_GVISOR,
	 .required_errno = ENOSYS,
	 .text = "It takes Linux 5.13 or later, built with CONFIG_SECURITY_LANDLOCK.\n"},
	{.title = "AppArmor",
	 .probes = {PROBE_USERNS, PROBE_MOUNTNS, PROBE_UTSNS, PROBE_NETNS},
	 .required_traits = TRAIT_APPARMOR_DENIES_USERNS,
	 .excluded_traits = TRAIT_SECCOMP_FILTER,
	 .write_prefix = advice_write_apparmor},
	{.title = "user namespaces",
	 .probes = {PROBE_USERNS},
	 .required_traits = TRAIT_USER_NAMESPACES_MAX_IS_0,
	 .excluded_traits = TRAIT_SECCOMP_LISTENER,
	 .text = ADVICE_TO_SET_SYSCTL("user.max_user_namespaces=15000")},
	{.title = "user namespaces",
	 .probes = {PROBE_USERNS},
	 .required_traits = TRAIT_UNPRIVILEGED_USERNS_CLONE_IS_0,
	 .excluded_traits = TRAIT_SECCOMP_LISTENER | TRAIT_USER_NAMESPACES_MAX_IS_0,
	 .text = ADVICE_TO_SET_SYSCTL("kernel.unprivileged_userns_clone=1")},
	{.title = "chroot",
	 .probes = {PROBE_USERNS},
	 .required_traits = TRAIT_IN_CHROOT,
	 .excluded_traits = TRAIT_SECCOMP_LISTENER,
	 .text = "The kernel refuses user namespaces to processes in a chroot. Start callgate outside of it, or enter\n"
		 "the directory as a mount instead: systemd-nspawn -D DIRECTORY, or unshare -m and pivot_root.\n"},
	{.title = "a /proc of its own",
	 .probes = {PROBE_FRESHPROC},
	 .applies = advice_proc_is_masked,
	 .text = "The kernel mounts a new /proc only where no part of the present one is covered.\n",
	 .docker = "  Docker:     docker run --security-opt systempaths=unconfined ...\n",
	 .podman = "  Podman:     podman run --security-opt unmask=ALL ...\n",
	 .kubernetes = "  Kubernetes: in the pod hostUsers: false; in the container's\n"
		       "    securityContext: {procMount: Unmasked}\n"},
	{.title = "control groups",
	 .probes = {PROBE_CGROUPS},
	 .excluded_traits = TRAITS_CONFINED | TRAITS_NESTED,
	 .write_prefix = advice_write_cgroups},
	{.title = "control groups",
	 .probes = {PROBE_CGROUPS},
	 .required_traits = TRAITS_CONFINED,
	 .excluded_traits = TRAITS_NESTED,
	 .text = "Give the container or service a control group of its own that it may write (version 2):\n",
	 .docker = "  Docker 28:  docker run --cgroupns=private --security-opt writable-cgroups=true ...\n",
	 .podman = "  Podman:     podman run --cgroupns=private --systemd=always ...\n",
	 .kubernetes = "  Kubernetes: cgroup_writable = true for the runtime in containerd's config.toml, or CRI-O's\n"
		       "    annotation io.kubernetes.cri-o.cgroup2-mount-hierarchy-rw: \"true\"\n",
	 .service = "  systemd:    Delegate=yes in the service's unit\n"},
	{.title = "crash handler",
	 .probes = {PROBE_CORE},
	 .excluded_traits = TRAIT_IN_CALLGATE,
	 .text = "To start no handler for crashes of the programs run here, on the host, as root:\n"
		 "  sysctl -w kernel.core_pattern=core\n"},
};

/* Whether the host's traits, the first probe's errno and the advice's own condition call for this advice. */
static bool advice_applies(const struct doctor *doctor, const struct advice *advice)
{
	return (!advice->required_traits || doctor->traits & advice->required_traits) &&
	       !(doctor->traits & advice->excluded_traits) &&
	       (!advice->required_errno ||
		doctor->findings[advice->probes[0]].error_number == advice->required_errno) &&
	       (!advice->applies || advice->applies(doctor));
}

/* Writes the text for one container runtime or a service (NULL: nothing), unless only another runtime is in use. */
static void advice_write_runtime(const struct doctor *doctor, struct buf *text, enum machine_trait runtime,
				 const char *words)
{
	if (words && (doctor->traits & runtime || !(doctor->traits & TRAITS_CONTAINER)))
		buf_puts(text, words);
}

/* The names of the probes in the advice's `probes` whose finding is not FINDING_WORKS. */
static json_t *advice_list_failing_probes(const struct doctor *doctor, const struct advice *advice)
{
	json_t *names = json_array();

	for (size_t i = 0; i < sizeof(advice->probes) / sizeof(advice->probes[0]) && advice->probes[i] != PROBE_KERNEL;
	     i++)
		if (doctor->findings[advice->probes[i]].state != FINDING_WORKS)
			(void)json_array_append_new(names, json_string(probe_get_name(advice->probes[i])));
	return names;
}

json_t *doctor_make_advice(const struct doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		const struct advice *advice = &advices[i];
		json_t *names = advice_list_failing_probes(doctor, advice);
		_cleanup_buf_ struct buf text = {0};

		if (json_array_size(names) == 0 || !advice_applies(doctor, advice)) {
			json_decref(names);
			continue;
		}
		if (advice->write_prefix)
			advice->write_prefix(doctor, &text);
		buf_puts(&text, advice->text ? advice->text : "");
		advice_write_runtime(doctor, &text, TRAIT_DOCKER, advice->docker);
		advice_write_runtime(doctor, &text, TRAIT_PODMAN, advice->podman);
		advice_write_runtime(doctor, &text, TRAIT_KUBERNETES, advice->kubernetes);
		advice_write_runtime(doctor, &text, TRAIT_SYSTEMD_SERVICE, advice->service);
		(void)json_array_append_new(list, json_pack("{s:o, s:s, s:s}", "for", names, "title", advice->title,
							    "text", text.data ? text.data : ""));
	}
	return list;
}
