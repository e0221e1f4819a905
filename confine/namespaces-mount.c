/* The supervisor's side: inside the new namespaces, still with the capabilities that mounting takes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "confine/namespaces-private.h"
#include "confine/pidmax.h"

#include "base/banned.h"

#define PIDNS LAYER_BIT(LAYER_PIDNS)
#define MOUNTNS LAYER_BIT(LAYER_MOUNTNS)

/* Names only: what the view holds of its own is empty. Listings of large directories are what needs inodes. */
static const char *const tmpfs_options[] = {"mode", "0755", "size", "4m", "nr_inodes", "200k"};

/* Of a procfs: no files about the machine, and no processes but those that the reader could trace. */
static const char *const processes_only[] = {"subset", "pid", "hidepid", "ptraceable"};

static int give_up(struct namespaces *namespaces, unsigned layers, const char *what, int error)
{
	note_refuse(namespaces->peer_fd, NOTE_WITHDREW, layers, "cannot %s: %s", what, strerror(-error));
	return error;
}

/* The kernel refuses a procfs to a user namespace when parts of the one it sees are hidden, as in containers. */
static int prepare_proc(struct namespaces *namespaces)
{
	if (!(namespaces->made & PIDNS)) {
		namespaces->proc_fd = mounts_clone(AT_FDCWD, "/proc");
		return namespaces->proc_fd < 0
			       ? give_up(namespaces, MOUNTNS, "copy the mount of /proc", namespaces->proc_fd)
			       : 0;
	}
	namespaces->host_proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (namespaces->host_proc_fd < 0)
		return give_up(namespaces, PIDNS, "open /proc", -errno);
	namespaces->proc_fd = mounts_make("proc", NULL, 0);
	if (namespaces->proc_fd < 0)
		return give_up(namespaces, PIDNS, "mount a /proc of its own", namespaces->proc_fd);
	/* Linux 5.8. Without, the program's is the supervisor's, and what it could tell is judged instead. */
	if (namespaces->narrow_proc)
		namespaces->program_proc_fd =
			mounts_make("proc", processes_only, sizeof(processes_only) / sizeof(processes_only[0]));
	return 0;
}

int namespaces_prepare(struct namespaces *namespaces)
{
	int r;

	namespaces_begin_network(namespaces);
	namespaces->tasks_bound =
		namespaces->made & PIDNS && namespaces->tasks_most && pidmax_set(namespaces->tasks_most) == 0;
	if (!(namespaces->made & MOUNTNS))
		return 0;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return give_up(namespaces, MOUNTNS | PIDNS, "make the mounts private", -errno);
	namespaces->tmpfs_fd = mounts_make("tmpfs", tmpfs_options, sizeof(tmpfs_options) / sizeof(tmpfs_options[0]));
	if (namespaces->tmpfs_fd < 0)
		return give_up(namespaces, MOUNTNS | PIDNS, "make a tmpfs", namespaces->tmpfs_fd);
	r = prepare_proc(namespaces);
	return r;
}

int namespaces_enter(struct namespaces *namespaces, struct view *view)
{
	const struct view_mounts mounts = {.tmpfs_fd = namespaces->tmpfs_fd,
					   .proc_fd = namespaces->proc_fd,
					   .program_proc_fd = namespaces->program_proc_fd,
					   .host_root_fd = namespaces->host_root_fd};
	const char *what;
	int r = 0;

	if (namespaces->made & MOUNTNS)
		r = view_attach(view, &mounts, &what);
	namespaces_enter_network(namespaces);
	if (r < 0)
		return give_up(namespaces, MOUNTNS | PIDNS, what, r);
	r = privs_drop();
	if (r < 0)
		return r;
	cleanup_close(&namespaces->tmpfs_fd);
	cleanup_close(&namespaces->proc_fd);
	cleanup_close(&namespaces->program_proc_fd);
	namespaces->program_proc_fd = -1;
	cleanup_close(&namespaces->host_root_fd);
	namespaces->tmpfs_fd = namespaces->proc_fd = namespaces->host_root_fd = -1;
	return 0;
}

void namespaces_settle(struct namespaces *namespaces)
{
	const struct note settled = {.kind = NOTE_SETTLED};

	if (namespaces->peer_fd >= 0)
		/* It may have stopped waiting; its death is seen elsewhere. */
		(void)note_send(namespaces->peer_fd, &settled);
	cleanup_close(&namespaces->peer_fd);
	namespaces->peer_fd = -1;
}
