/* Trials of the host: kernel, libraries, /proc, scratch space, core_pattern, control groups. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <mntent.h>
#include <nettle/version.h>
#include <openssl/opensslv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/tree.h"
#include "confine/cgroup.h"
#include "confine/layers.h"
#include "doctor/probe.h"
#include "keeper/scratch.h"

#define LOW_DISK_SPACE_BYTES (UINT64_C(64) << 20) /* with less free space, the doctor reports a caveat */

/* Finds traits that only the advice uses. Whether a mechanism works is tried, never concluded from names. */
static void probe_find_host_traits(struct doctor *doctor, const struct utsname *kernel)
{
	char text[256];

	if (access("/.dockerenv", F_OK) == 0)
		doctor->traits |= TRAIT_DOCKER;
	if (access("/run/.containerenv", F_OK) == 0)
		doctor->traits |= TRAIT_PODMAN;
	if (getenv("KUBERNETES_SERVICE_HOST") || access("/var/run/secrets/kubernetes.io", F_OK) == 0)
		doctor->traits |= TRAIT_KUBERNETES;
	if (access("/.flatpak-info", F_OK) == 0)
		doctor->traits |= TRAIT_FLATPAK;
	if (strcasestr(kernel->release, "microsoft"))
		doctor->traits |= TRAIT_WSL;
	/* gVisor always reports this version */
	if (probe_read_first_line("/proc/version", text, sizeof(text)) &&
	    strstr(text, "Linux version 4.4.0 #1 SMP Sun Jan 10"))
		doctor->traits |= TRAIT_GVISOR;
	if (access("/run/systemd/system", F_OK) == 0)
		doctor->traits |= TRAIT_SYSTEMD;
	if (getenv("INVOCATION_ID")) /* systemd.exec(5) */
		doctor->traits |= TRAIT_SYSTEMD_SERVICE;
}

/* Reports the kernel's version, and finds out in what environment it runs. */
void probe_kernel(struct doctor *doctor)
{
	struct utsname kernel;
	char old[128];
	bool is_old;

	if (uname(&kernel) < 0)
		return;
	probe_find_host_traits(doctor, &kernel);
	is_old = layers_describe_old_kernel(kernel.release, old, sizeof(old)) && !(doctor->traits & TRAIT_GVISOR);
	finding_set_state(doctor, PROBE_KERNEL, is_old ? FINDING_WORKS_WITH_CAVEAT : FINDING_WORKS, 0,
			  "%s %s on %s%s%s%s%s", kernel.sysname, kernel.release, kernel.machine,
			  doctor->traits & TRAIT_WSL ? ", under WSL" : "",
			  doctor->traits & TRAIT_GVISOR ? ", played by gVisor" : "", is_old ? ". " : "",
			  is_old ? old : "");
}

void probe_libraries(struct doctor *doctor)
{
	finding_set_state(doctor, PROBE_LIBRARIES, FINDING_WORKS, 0, "glibc %s; made with jansson %s, nettle %d.%d, %s",
			  gnu_get_libc_version(), JANSSON_VERSION, NETTLE_VERSION_MAJOR, NETTLE_VERSION_MINOR,
			  OPENSSL_VERSION_TEXT);
}

/* Tries whether openat2(2) keeps beneath a directory. */
void probe_resolve_beneath(struct doctor *doctor)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int inside = (int)syscall(SYS_openat2, root, ".", &how, sizeof(how));
	_cleanup_close_ int outside = -1;

	if (inside < 0) {
		probe_set_failing(doctor, PROBE_BENEATH, errno, "openat2 (Linux 5.6) fails");
		return;
	}
	outside = (int)syscall(SYS_openat2, root, "..", &how, sizeof(how));
	if (outside >= 0 || errno != EXDEV)
		finding_set_state(doctor, PROBE_BENEATH, FINDING_FAILS, EXDEV,
				  "openat2 does not keep beneath a directory");
	else
		finding_set_state(doctor, PROBE_BENEATH, FINDING_WORKS, 0,
				  "opens beneath a directory and refuses to leave it");
}

/* Gets the options of the last mount at a mount point: "rw,hidepid=invisible". -ENOENT: nothing is mounted there. */
static int probe_get_mount_options(const char *point, char *out, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	int error = mounts ? -ENOENT : -ENOSYS;
	const struct mntent *entry;

	while (mounts && (entry = getmntent(mounts)))
		if (strcmp(entry->mnt_dir, point) == 0) {
			(void)snprintf(out, size, "%s", entry->mnt_opts); /* mount options longer than `out` are cut */
			error = 0;
		}
	if (mounts)
		(void)endmntent(mounts);
	return error;
}

/* Reports whether /proc shows processes. */
void probe_procfs(struct doctor *doctor)
{
	char options[256] = "", stat[64], *hidden;

	if (probe_get_mount_options("/", options, sizeof(options)) == -ENOENT)
		doctor->traits |= TRAIT_IN_CHROOT;
	if (!probe_read_first_line("/proc/self/stat", stat, sizeof(stat))) {
		probe_set_failing(doctor, PROBE_PROC, errno, "/proc is not mounted, or another");
		return;
	}
	options[0] = '\0';
	(void)probe_get_mount_options("/proc", options, sizeof(options));
	hidden = strstr(options, "hidepid=");
	if (hidden)
		hidden[strcspn(hidden, ",")] = '\0';
	if (hidden && strcmp(hidden, "hidepid=0") != 0 && strcmp(hidden, "hidepid=off") != 0)
		finding_set_state(doctor, PROBE_PROC, FINDING_WORKS_WITH_CAVEAT, 0,
				  "mounted with %s: shows processes of our own user, which those of a run are", hidden);
	else
		finding_set_state(doctor, PROBE_PROC, FINDING_WORKS, 0, "shows processes");
}

/*
 * Reports whether proctree_read_exactly() can find each process of a run. Without it a read that fires after_read is
 * refused, and limits.disk takes removed files for mapped ones where leases do not tell.
 */
void probe_last_pid(struct doctor *doctor)
{
	if (proctree_read_newest_pid(-1) >= 0)
		finding_set_state(doctor, PROBE_LASTPID, FINDING_WORKS, 0,
				  "the kernel tells the newest pid, so after_read finds each process");
	else
		finding_set_state(doctor, PROBE_LASTPID, FINDING_FAILS, ENOENT,
				  "neither /proc/sys/kernel/ns_last_pid nor the kernel's /proc/loadavg can be read: "
				  "reads that fire after_read are EACCES, and on overlayfs limits.disk keeps counting "
				  "removed files");
}

/* What is known of a file system by its type in statfs(2). */
struct filesystem_type {
	long type; /* f_type of statfs(2) */
	const char *name;
	bool is_slow;
};

/* The name of a file system by its type in statfs(2), and whether it is slow. */
static struct filesystem_type probe_get_filesystem_of_type(long type)
{
	static const struct filesystem_type known[] = {
		{0x01021994, "tmpfs", false}, {0xef53, "ext4", false},        {0x58465342, "xfs", false},
		{0x9123683e, "btrfs", false}, {0x794c7630, "overlay", false}, {0x2fc12fc1, "zfs", false},
		{0xf2f52010, "f2fs", false},  {0xff534d42, "CIFS", false},    {0xfe534d42, "SMB", false},
		{0x6969, "NFS", true},        {0x65735546, "FUSE", true},     {0x01021997, "9p", true},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == type)
			return known[i];
	return (struct filesystem_type){type, "another file system", false};
}

/* Makes a scratch directory, and reports its file system and free space. */
void probe_scratch_base(struct doctor *doctor)
{
	struct policy_error error = {""};
	struct filesystem_type kind;
	struct scratch scratch;
	struct statfs fs = {0};
	int ret = scratch_create(&scratch, &error);
	uint64_t bytes;
	bool little;

	if (ret < 0) {
		finding_set_state(doctor, PROBE_SCRATCH, FINDING_FAILS, -ret, "%s", error.text);
		return;
	}
	(void)fstatfs(scratch.fd, &fs); /* on failure `fs` is zero, which means no free space */
	kind = probe_get_filesystem_of_type(fs.f_type);
	bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_frsize;
	little = bytes < LOW_DISK_SPACE_BYTES;
	finding_set_state(
		doctor, PROBE_SCRATCH,
		little || kind.is_slow || scratch.base_name_notice ? FINDING_WORKS_WITH_CAVEAT : FINDING_WORKS, 0,
		"%s: %s, %llu MiB free%s%s", scratch.base_name_notice ? scratch.base_name_notice : scratch.base_path,
		kind.name, (unsigned long long)(bytes >> 20), little ? ": little" : "",
		kind.is_slow ? ": slow, a local TMPDIR is better" : "");
	ret = scratch_remove_run(&scratch);
	if (ret < 0)
		probe_set_failing(doctor, PROBE_SCRATCH, -ret, "a scratch directory can be made but not removed");
}

/*
 * A core_pattern handler runs outside of the run, and reads the memory of the program. With an RLIMIT_CORE of 1 byte
 * (set by launch.c) the kernel starts no pipe handler. A socket handler (Linux 6.16) ignores that limit.
 */
void probe_core_pattern(struct doctor *doctor)
{
	static const struct rlimit one_byte = {1, 1};
	bool kept = setrlimit(RLIMIT_CORE, &one_byte) == 0; /* setrlimit(2) fails when the hard limit is 0 */
	char pattern[160];

	if (!probe_read_first_line("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern)))
		finding_set_state(doctor, PROBE_CORE, FINDING_WORKS_WITH_CAVEAT, 0,
				  "kernel.core_pattern cannot be read");
	else if (pattern[0] == '@' || (pattern[0] == '|' && !kept))
		finding_set_state(
			doctor, PROBE_CORE, FINDING_WORKS_WITH_CAVEAT, 0,
			"a crash of the program starts or calls \"%.80s\" outside of the run, with its memory "
			"for input",
			pattern + 1);
	else if (pattern[0] == '|')
		finding_set_state(doctor, PROBE_CORE, FINDING_WORKS, 0,
				  "\"%.80s\" is not started by crashes of the program: its core limit is 1",
				  pattern + 1);
	else
		finding_set_state(doctor, PROBE_CORE, FINDING_WORKS, 0,
				  "a crash starts no handler and leaves no core file");
}

/* Makes the control groups of a run, sets limits, reads the usage, and removes the groups. */
void probe_cgroups(struct doctor *doctor)
{
	/* The limits are high: the trial only finds out if they can be set. */
	const struct policy_limits limits = {
		.memory_bytes = UINT64_C(1) << 30, .pids = 1000, .cpu_ns = UINT64_C(3600000000000)};
	struct layers *layers = layers_create(0, 0);
	char id[32];
	struct cgroup_options options;
	struct cgroup *cgroup;

	if (!layers)
		return;
	(void)snprintf(id, sizeof(id), "doctor-%d", (int)getpid());
	options = (struct cgroup_options){
		.run_id = id, .uid = geteuid(), .gid = getegid(), .limits = &limits, .layers = layers};
	cgroup = cgroup_create(&options);
	if (!layers->layer[LAYER_CGROUPS].active)
		finding_set_state(doctor, PROBE_CGROUPS, FINDING_FAILS, EACCES, "%s", layers->layer[LAYER_CGROUPS].why);
	else
		finding_set_state(doctor, PROBE_CGROUPS, FINDING_WORKS, 0, "made, limited and removed: %s",
				  layers->layer[LAYER_CGROUPS].why);
	cgroup_destroy(cgroup);
	layers_free(layers);
}
