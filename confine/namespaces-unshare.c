/* Decides which namespaces are tried, unshares them one by one, and writes the id maps of a user namespace. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "confine/namespaces-private.h"

static const struct {
	const char *file; /* name of the file in /proc/self/ns */
	int flag;
	const char *active;
} namespace_kinds[LAYER_MAX] = {
	[LAYER_USERNS] = {"user", CLONE_NEWUSER, "what capabilities might be gained mean nothing outside"},
	[LAYER_MOUNTNS] = {"mnt", CLONE_NEWNS, "the kernel too resolves paths in the program's view alone"},
	[LAYER_PIDNS] = {"pid", CLONE_NEWPID,
			 "the run's processes see and reach no others, and die with the supervisor"},
	[LAYER_IPCNS] = {"ipc", CLONE_NEWIPC,
			 "System V and POSIX message queues, semaphores and segments are the run's own"},
	[LAYER_UTSNS] = {"uts", CLONE_NEWUTS, "the host name is a copy"},
	[LAYER_NETNS] = {"net", CLONE_NEWNET, "there is no interface but a loopback of the run's own"},
	[LAYER_CGROUPNS] = {"cgroup", CLONE_NEWCGROUP, "names of control groups outside are not shown"},
};

static bool namespaces_kernel_has_layer(enum layer layer)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", namespace_kinds[layer].file);
	return access(path, F_OK) == 0;
}

/* Removes a namespace from those to be made, and reports why. */
static void namespaces_leave_out_layer(struct namespaces *namespaces, unsigned *wanted, enum layer layer,
				       const char *why)
{
	if (*wanted & LAYER_BIT(layer))
		layers_set_state(namespaces->layers, layer, false, "%s", why);
	*wanted &= ~LAYER_BIT(layer);
}

unsigned namespaces_find_layers_to_try(struct namespaces *namespaces)
{
	unsigned wanted = 0;

	for (enum layer layer = LAYER_USERNS; layer <= LAYER_CGROUPNS; layer++) {
		if (namespaces->refused_layers & LAYER_BIT(layer) || !layers_wants_layer(namespaces->layers, layer))
			continue;
		wanted |= LAYER_BIT(layer);
		/* Only checked when one clone(2) for all has failed: then each is tried alone, with a reason. */
		if (namespaces->must_unshare_one_by_one && !namespaces_kernel_has_layer(layer))
			namespaces_leave_out_layer(namespaces, &wanted, layer, "not in this kernel");
	}
	if (!(wanted & LAYER_BIT(LAYER_USERNS)) && !privs_have_capability(CAP_SYS_ADMIN))
		for (enum layer layer = LAYER_MOUNTNS; layer <= LAYER_CGROUPNS; layer++)
			namespaces_leave_out_layer(namespaces, &wanted, layer,
						   "takes a user namespace, or CAP_SYS_ADMIN");
	if (!(wanted & LAYER_BIT(LAYER_MOUNTNS)))
		namespaces_leave_out_layer(namespaces, &wanted, LAYER_PIDNS,
				     "takes a mount namespace, for a /proc of its own");
	/* A user namespace alone confines nothing, and would show the files of other users as owned by "nobody". */
	if (wanted == LAYER_BIT(LAYER_USERNS))
		namespaces_leave_out_layer(namespaces, &wanted, LAYER_USERNS, "of no use without the others");
	return wanted;
}

static int namespaces_write_proc_file(const char *process, const char *file, const char *text)
{
	char path[64];

	/* The name of the process and of the file always fit. */
	(void)snprintf(path, sizeof(path), "/proc/%s/%s", process, file);
	return io_write_once(AT_FDCWD, path, text);
}

int namespaces_write_own_id_map(const char *process, uid_t uid, gid_t gid)
{
	char text[64];
	int r = namespaces_write_proc_file(process, "setgroups", "deny");

	if (r < 0 && r != -ENOENT) /* ENOENT: Linux before 3.19 has no setgroups file */
		return r;
	(void)snprintf(text, sizeof(text), "%u %u 1\n", uid, uid);
	r = namespaces_write_proc_file(process, "uid_map", text);
	if (r < 0)
		return r;
	(void)snprintf(text, sizeof(text), "%u %u 1\n", gid, gid);
	return namespaces_write_proc_file(process, "gid_map", text);
}

/* Maps each id that is mapped here to itself. Root in a container has only some of the ids. */
static int namespaces_copy_id_map(const char *process, const char *file)
{
	_cleanup_free_ char *ours = NULL, *text = NULL;
	unsigned first, outside, count;
	struct buf map = {.data = NULL};
	char path[32];
	size_t len;
	int r, used;

	(void)snprintf(path, sizeof(path), "/proc/self/%s", file);
	r = io_read_file(AT_FDCWD, path, 65536, &ours, &len);
	if (r < 0)
		return r;
	for (const char *at = ours; sscanf(at, " %u %u %u%n", &first, &outside, &count, &used) == 3; at += used)
		buf_printf(&map, "%u %u %u\n", first, first, count);
	text = buf_take_text(&map);
	return text ? namespaces_write_proc_file(process, file, text) : -ENOMEM;
}

int namespaces_write_id_maps(pid_t pid)
{
	char process[16];
	int r;

	(void)snprintf(process, sizeof(process), "%d", pid); /* always fits */
	if (!privs_have_capability(CAP_SETUID) || !privs_have_capability(CAP_SETGID))
		return namespaces_write_own_id_map(process, geteuid(), getegid());
	r = namespaces_copy_id_map(process, "uid_map");
	return r < 0 ? r : namespaces_copy_id_map(process, "gid_map");
}

int namespaces_raise_loopback(int socket_fd)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};

	return socket_fd < 0 || ioctl(socket_fd, SIOCSIFFLAGS, &lo) < 0 ? -errno : 0;
}

void namespaces_mark_network_made(struct namespaces *namespaces, int loopback)
{
	namespaces_mark_layers_made(namespaces, LAYER_BIT(LAYER_NETNS));
	if (loopback < 0)
		layers_set_state(namespaces->layers, LAYER_NETNS, true,
			   "there is no interface at all: the loopback stays down (%s)", strerror(-loopback));
}

void namespaces_raise_own_loopback(struct namespaces *namespaces)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	namespaces_mark_network_made(namespaces, namespaces_raise_loopback(fd));
}

void namespaces_mark_layers_made(struct namespaces *namespaces, unsigned made)
{
	namespaces->made_layers |= made;
	for (enum layer layer = LAYER_USERNS; layer <= LAYER_CGROUPNS; layer++)
		if (made & LAYER_BIT(layer))
			layers_set_state(namespaces->layers, layer, true, "%s", namespace_kinds[layer].active);
}

unsigned long namespaces_get_flags(unsigned layers)
{
	unsigned long flags = 0;

	for (enum layer layer = LAYER_USERNS; layer <= LAYER_CGROUPNS; layer++)
		if (layers & LAYER_BIT(layer))
			flags |= (unsigned long)(unsigned)namespace_kinds[layer].flag;
	return flags;
}

static bool namespaces_unshare_user(struct namespaces *namespaces)
{
	struct namespaces_message note = {.kind = NS_MESSAGE_WRITE_ID_MAPS};

	if (unshare(CLONE_NEWUSER) < 0) {
		namespaces_send_failure(namespaces->start_socket_fd, NS_MESSAGE_INTERMEDIATE_FAILED,
					LAYER_BIT(LAYER_USERNS), "refused by the system: %s%s", strerror(errno),
					errno == ENOSPC ? " (see user.max_user_namespaces)" : "");
		return false;
	}
	if (!namespaces_send_message(namespaces->start_socket_fd, &note) ||
	    !namespaces_receive_message(namespaces->start_socket_fd, 0, &note))
		return false; /* no message arrives: the keeper is dead */
	if (note.result_or_pid < 0) {
		namespaces_send_failure(namespaces->start_socket_fd, NS_MESSAGE_INTERMEDIATE_FAILED,
					LAYER_BIT(LAYER_USERNS), "its id map cannot be written: %s",
					strerror(-note.result_or_pid));
		return false;
	}
	namespaces_mark_layers_made(namespaces, LAYER_BIT(LAYER_USERNS));
	return true;
}

/* Unshares the namespaces one by one, after one clone(2) for all has failed. Returns the first errno. */
static int namespaces_unshare_singly(struct namespaces *namespaces, unsigned wanted)
{
	int first = 0;

	for (enum layer layer = LAYER_MOUNTNS; layer <= LAYER_CGROUPNS; layer++) {
		if (!(wanted & LAYER_BIT(layer)))
			continue;
		if (layer == LAYER_PIDNS && !(namespaces->made_layers & LAYER_BIT(LAYER_MOUNTNS))) {
			layers_set_state(namespaces->layers, layer, false,
					 "takes a mount namespace, for a /proc of its own");
		} else if (unshare(namespace_kinds[layer].flag) == 0) {
			namespaces_mark_layers_made(namespaces, LAYER_BIT(layer));
		} else {
			first = first ? first : errno;
			layers_set_state(namespaces->layers, layer, false, "refused by the system: %s",
					 strerror(errno));
		}
	}
	return first;
}

bool namespaces_unshare_wanted_layers(struct namespaces *namespaces)
{
	unsigned wanted = namespaces_find_layers_to_try(namespaces);
	int error;

	namespaces->made_layers = 0;
	if (wanted & LAYER_BIT(LAYER_USERNS) && !namespaces_unshare_user(namespaces))
		return false;
	error = namespaces_unshare_singly(namespaces, wanted);
	if (!(namespaces->made_layers & ~LAYER_BIT(LAYER_USERNS))) {
		namespaces_send_failure(namespaces->start_socket_fd, NS_MESSAGE_INTERMEDIATE_FAILED, LAYERS_NAMESPACES,
				  "refused by the system: %s", strerror(error));
		return false;
	}
	if (namespaces->made_layers & LAYER_BIT(LAYER_NETNS))
		namespaces_raise_own_loopback(namespaces);
	return true;
}
