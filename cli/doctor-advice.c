/* What to do about what is missing: the exact words for the runtime, the kernel or the service manager at hand. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/doctor.h"

#include "base/banned.h"

/* One piece of advice is about some findings; it is given when one of them is not there and `applies` agrees. */
struct advice {
	const char *title;
	enum probe about[5]; /* ended by PROBE_KERNEL, which nothing can be done about */
	bool (*applies)(const struct doctor *doctor);
	void (*write)(const struct doctor *doctor, struct buf *text);
};

static bool lacks(const struct doctor *doctor, enum probe probe)
{
	return doctor->finding[probe].state == FINDING_LACKS;
}

static bool refused(const struct doctor *doctor, enum probe probe)
{
	int error = doctor->finding[probe].error;

	return lacks(doctor, probe) && (error == EPERM || error == EACCES || error == ENOSYS);
}

/* For texts about containers: this runtime is the one at hand, or it is not known which is. */
static bool maybe(const struct doctor *doctor, enum trait runtime)
{
	return doctor->traits & runtime || !(doctor->traits & TRAITS_CONTAINER);
}

static bool in_container(const struct doctor *doctor)
{
	return doctor->traits & (TRAITS_CONTAINER | TRAIT_FILTERED) &&
	       !(doctor->traits & (TRAIT_LISTENER | TRAIT_GVISOR));
}

/* ---- a listener above, gVisor ---- */

static bool is_nested(const struct doctor *doctor)
{
	return doctor->traits & TRAIT_LISTENER;
}

static void write_nested(const struct doctor *doctor, struct buf *text)
{
	if (doctor->traits & TRAIT_CALLGATE)
		buf_puts(text,
			 "This is a program of a callgate run. Start callgate outside of it: runs do not nest,\n"
			 "because the kernel allows one listener. One run may start as many programs as it likes.\n");
	else
		buf_puts(text,
			 "The kernel allows one listener. Start callgate outside of what listens: another callgate,\n"
			 "or a container whose calls an agent handles. Without the agent's notifier:\n"
			 "  Docker, Podman: a seccomp profile without \"listenerPath\" and SCMP_ACT_NOTIFY\n"
			 "  LXD, Incus:     lxc config set NAME security.syscalls.intercept.mknod=false (and the "
			 "others)\n");
}

static bool is_gvisor(const struct doctor *doctor)
{
	return doctor->traits & TRAIT_GVISOR;
}

static void write_gvisor(const struct doctor *doctor, struct buf *text)
{
	(void)doctor;
	buf_puts(text, "gVisor's kernel has no seccomp listener. Use another runtime for this container:\n"
		       "  Docker:     docker run --runtime=runc ...\n"
		       "  Kubernetes: runtimeClassName of a runc or Kata class\n");
}

/* ---- a container's seccomp profile ---- */

static bool profile_refuses(const struct doctor *doctor)
{
	static const enum probe probes[] = {PROBE_LISTENER, PROBE_MEMORY, PROBE_TRACE, PROBE_LANDLOCK, PROBE_USERNS};

	if (!(doctor->traits & TRAIT_FILTERED) || !in_container(doctor))
		return false;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (refused(doctor, probes[i]))
			return true;
	return doctor->refused_pidfd_getfd;
}

static void write_profile(const struct doctor *doctor, struct buf *text)
{
	buf_puts(text, "Let the container's seccomp profile allow what callgate uses. Take the runtime's own profile\n"
		       "(Docker: https://github.com/moby/profiles, seccomp/default.json; Podman:\n"
		       "/usr/share/containers/seccomp.json), add this to its \"syscalls\", save it as callgate.json:\n"
		       "  {\"action\": \"SCMP_ACT_ALLOW\", \"names\": [");
	if (refused(doctor, PROBE_USERNS))
		buf_puts(text,
			 "\"clone\", \"unshare\", \"mount\", \"umount2\", \"pivot_root\", \"chroot\",\n    \"fsopen\", "
			 "\"fsconfig\", \"fsmount\", \"open_tree\", \"move_mount\", \"mount_setattr\",\n    ");
	if (refused(doctor, PROBE_LANDLOCK))
		buf_puts(text, "\"landlock_create_ruleset\", \"landlock_add_rule\", \"landlock_restrict_self\",\n    ");
	buf_puts(text, "\"seccomp\", \"ptrace\", \"process_vm_readv\",\n    \"process_vm_writev\", \"pidfd_open\", "
		       "\"pidfd_send_signal\", \"pidfd_getfd\"]}\n");
	if (maybe(doctor, TRAIT_DOCKER))
		buf_puts(text, "  Docker:     docker run --security-opt seccomp=callgate.json --security-opt "
			       "apparmor=unconfined ...\n");
	if (maybe(doctor, TRAIT_PODMAN))
		buf_puts(text, "  Podman:     podman run --security-opt seccomp=callgate.json ...\n");
	if (maybe(doctor, TRAIT_KUBERNETES))
		buf_puts(text,
			 "  Kubernetes: put it into /var/lib/kubelet/seccomp/ of the nodes; in the container's\n"
			 "    securityContext: {seccompProfile: {type: Localhost, localhostProfile: callgate.json},\n"
			 "                      appArmorProfile: {type: Unconfined}}\n");
}

/* ---- /proc covered in parts ---- */

static bool proc_is_masked(const struct doctor *doctor)
{
	return !lacks(doctor, PROBE_MOUNTNS) && !lacks(doctor, PROBE_PIDNS);
}

static void write_masked(const struct doctor *doctor, struct buf *text)
{
	buf_puts(text, "The kernel mounts a new /proc only where the present one is not covered in parts.\n");
	if (maybe(doctor, TRAIT_DOCKER))
		buf_puts(text, "  Docker:     docker run --security-opt systempaths=unconfined ...\n");
	if (maybe(doctor, TRAIT_PODMAN))
		buf_puts(text, "  Podman:     podman run --security-opt unmask=ALL ...\n");
	if (maybe(doctor, TRAIT_KUBERNETES))
		buf_puts(text, "  Kubernetes: in the pod hostUsers: false; in the container's\n"
			       "    securityContext: {procMount: Unmasked}\n");
}

/* ---- user namespaces kept from us by the host ---- */

static bool apparmor_restricts(const struct doctor *doctor)
{
	return doctor->traits & TRAIT_APPARMOR && !(doctor->traits & TRAIT_FILTERED);
}

static void write_apparmor(const struct doctor *doctor, struct buf *text)
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
	buf_printf(text, "  profile callgate \"%s\" flags=(unconfined) {\n", path);
	buf_puts(text, "    userns,\n"
		       "    include if exists <local/callgate>\n"
		       "  }\n");
}

static bool sysctl_forbids(const struct doctor *doctor)
{
	return doctor->traits & (TRAIT_MAX_USERNS | TRAIT_USERNS_CLONE) && !is_nested(doctor);
}

static void write_sysctl(const struct doctor *doctor, struct buf *text)
{
	const char *setting = doctor->traits & TRAIT_MAX_USERNS ? "user.max_user_namespaces=15000"
								: "kernel.unprivileged_userns_clone=1";

	buf_printf(text,
		   "On the host, as root; the second line makes it last:\n  sysctl -w %s\n  echo %s "
		   "> /etc/sysctl.d/50-callgate.conf\n",
		   setting, setting);
}

static bool is_chroot(const struct doctor *doctor)
{
	return doctor->traits & TRAIT_CHROOT && !is_nested(doctor);
}

static void write_chroot(const struct doctor *doctor, struct buf *text)
{
	(void)doctor;
	buf_puts(text,
		 "The kernel refuses user namespaces to processes in a chroot. Start callgate outside of it, or enter\n"
		 "the directory as a mount instead: systemd-nspawn -D DIRECTORY, or unshare -m and pivot_root.\n");
}

/* ---- kernel settings ---- */

static bool yama_forbids(const struct doctor *doctor)
{
	return doctor->traits & TRAIT_YAMA;
}

static void write_yama(const struct doctor *doctor, struct buf *text)
{
	(void)doctor;
	buf_puts(text,
		 "callgate traces its own descendants, which Yama allows up to ptrace_scope 1. On the host, as root:\n"
		 "  sysctl -w kernel.yama.ptrace_scope=1\n"
		 "A scope of 3 stays until the next boot: look for it in /etc/sysctl.d and the kernel's command "
		 "line.\n");
}

static bool landlock_is_off(const struct doctor *doctor)
{
	return doctor->finding[PROBE_LANDLOCK].error == EOPNOTSUPP;
}

static void write_landlock(const struct doctor *doctor, struct buf *text)
{
	(void)doctor;
	buf_puts(text, "Add landlock to the kernel's command line, in front of what /sys/kernel/security/lsm lists:\n"
		       "  GRUB_CMDLINE_LINUX=\"lsm=landlock,yama,apparmor,bpf\" in /etc/default/grub, then "
		       "update-grub, reboot\n");
}

static bool landlock_is_absent(const struct doctor *doctor)
{
	return doctor->finding[PROBE_LANDLOCK].error == ENOSYS && !(doctor->traits & (TRAIT_FILTERED | TRAIT_GVISOR));
}

static void write_newer(const struct doctor *doctor, struct buf *text)
{
	(void)doctor;
	buf_puts(text, "It takes Linux 5.13 or later, built with CONFIG_SECURITY_LANDLOCK.\n");
}

static bool is_wsl(const struct doctor *doctor)
{
	return doctor->traits & TRAIT_WSL;
}

static void write_wsl(const struct doctor *doctor, struct buf *text)
{
	(void)doctor;
	buf_puts(text, "In Windows: wsl --set-version DISTRIBUTION 2 (version 1 has no seccomp listener), and wsl "
		       "--update for\n"
		       "a newer kernel. For control groups: [boot] systemd=true in /etc/wsl.conf, and in .wslconfig\n"
		       "  [wsl2]\n"
		       "  kernelCommandLine = cgroup_no_v1=all\n"
		       "then wsl --shutdown.\n");
}

/* ---- control groups ---- */

static bool cgroups_on_host(const struct doctor *doctor)
{
	return !in_container(doctor) && !is_nested(doctor) && !is_gvisor(doctor);
}

static void write_cgroups_host(const struct doctor *doctor, struct buf *text)
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
		buf_puts(text, "Root needs nothing of this.\n");
}

static void write_cgroups_container(const struct doctor *doctor, struct buf *text)
{
	buf_puts(text, "Give the container a control group of its own that it may write (version 2):\n");
	if (maybe(doctor, TRAIT_DOCKER))
		buf_puts(text,
			 "  Docker 28:  docker run --cgroupns=private --security-opt writable-cgroups=true ...\n");
	if (maybe(doctor, TRAIT_PODMAN))
		buf_puts(text, "  Podman:     podman run --cgroupns=private --systemd=always ...\n");
	if (maybe(doctor, TRAIT_KUBERNETES))
		buf_puts(
			text,
			"  Kubernetes: cgroup_writable = true for the runtime in containerd's config.toml, or CRI-O's\n"
			"    annotation io.kubernetes.cri-o.cgroup2-mount-hierarchy-rw: \"true\"\n");
}

/* ---- the rest ---- */

static bool always(const struct doctor *doctor)
{
	(void)doctor;
	return true;
}

static void write_scratch(const struct doctor *doctor, struct buf *text)
{
	(void)doctor;
	buf_puts(text,
		 "Name a directory of your own on a local file system with some room: TMPDIR=/var/tmp callgate ...\n"
		 "It may be mounted noexec.\n");
}

static void write_proc(const struct doctor *doctor, struct buf *text)
{
	(void)doctor;
	buf_puts(text, "  mount -t proc proc /proc\n");
}

static bool handler_is_piped(const struct doctor *doctor)
{
	return doctor->finding[PROBE_CORE].state == FINDING_WARNS && !(doctor->traits & TRAIT_CALLGATE);
}

static void write_core(const struct doctor *doctor, struct buf *text)
{
	(void)doctor;
	buf_puts(text, "To have no handler started by crashes of what runs here, on the host, as root:\n"
		       "  sysctl -w kernel.core_pattern=core\n");
}

static const struct advice advices[] = {
	{"one listener only", {PROBE_LISTENER}, is_nested, write_nested},
	{"gVisor", {PROBE_LISTENER}, is_gvisor, write_gvisor},
	{"WSL", {PROBE_LISTENER, PROBE_LANDLOCK, PROBE_CGROUPS}, is_wsl, write_wsl},
	{"seccomp profile",
	 {PROBE_LISTENER, PROBE_TRACE, PROBE_LANDLOCK, PROBE_USERNS, PROBE_OUTER},
	 profile_refuses,
	 write_profile},
	{"ptrace_scope", {PROBE_MEMORY, PROBE_TRACE}, yama_forbids, write_yama},
	{"scratch space", {PROBE_SCRATCH}, always, write_scratch},
	{"/proc", {PROBE_PROC}, always, write_proc},
	{"Landlock", {PROBE_LANDLOCK}, landlock_is_off, write_landlock},
	{"Landlock", {PROBE_LANDLOCK}, landlock_is_absent, write_newer},
	{"AppArmor", {PROBE_USERNS, PROBE_MOUNTNS, PROBE_UTSNS, PROBE_NETNS}, apparmor_restricts, write_apparmor},
	{"user namespaces", {PROBE_USERNS}, sysctl_forbids, write_sysctl},
	{"chroot", {PROBE_USERNS}, is_chroot, write_chroot},
	{"a /proc of its own", {PROBE_FRESHPROC}, proc_is_masked, write_masked},
	{"control groups", {PROBE_CGROUPS}, cgroups_on_host, write_cgroups_host},
	{"control groups", {PROBE_CGROUPS}, in_container, write_cgroups_container},
	{"crash handler", {PROBE_CORE}, handler_is_piped, write_core},
};

/* The names of those findings of the advice that are not as they should be; an empty list: none. */
static json_t *reasons(const struct doctor *doctor, const struct advice *advice)
{
	json_t *names = json_array();

	for (size_t i = 0; i < sizeof(advice->about) / sizeof(advice->about[0]) && advice->about[i] != PROBE_KERNEL;
	     i++)
		if (doctor->finding[advice->about[i]].state != FINDING_WORKS)
			(void)json_array_append_new(names, json_string(probe_name(advice->about[i])));
	return names;
}

json_t *doctor_advice(const struct doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		json_t *names = reasons(doctor, &advices[i]);
		_cleanup_buf_ struct buf text = {0};

		if (json_array_size(names) == 0 || !advices[i].applies(doctor)) {
			json_decref(names);
			continue;
		}
		advices[i].write(doctor, &text);
		(void)json_array_append_new(list, json_pack("{s:o, s:s, s:s}", "for", names, "title", advices[i].title,
							    "text", text.data ? text.data : ""));
	}
	return list;
}
