/* The view's descriptors, once it is attached: from here on they are of the new mounts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "view/attach.h"

#include "base/banned.h"

/* The directory that a file is held by, by its name for this process. */
static int hold_again(struct attach *attach, const struct piece *piece, const char *name, struct held **ret_held)
{
	char held[PATH_MAX + 1];
	int len = (int)(strrchr(name, '/') - name), fd;

	(void)snprintf(held, sizeof(held), "@%.*s", len, name); /* as no path of the host begins */
	*ret_held = view_held(attach->view, held);
	if (*ret_held)
		return 0;
	if (piece->elsewhere)
		fd = fcntl(attach->more_fd, F_DUPFD_CLOEXEC, 3);
	else
		fd = openat2_call(attach->root_fd, len ? held + 2 : ".", O_PATH | O_DIRECTORY, 0, RESOLVE_STRICT);
	if (fd < 0)
		return fd;
	*ret_held = view_hold(attach->view, held, fd);
	return *ret_held ? 0 : -ENOMEM;
}

static int hold_anew(struct attach *attach, struct piece *piece, const char *name)
{
	struct held *held = NULL;
	int r = 0;

	if (piece->own)
		return 0; /* the tmpfs is the same mount as before */
	if (piece->kept)
		return 0; /* it was held by its copy before */
	if (piece->mount->flags & MOUNT_FILE)
		r = hold_again(attach, piece, name, &held);
	if (r < 0)
		return r;
	/* of a directory the copy is, now that it is attached, what the name leads to */
	view_hold_by(piece->mount, piece->copy_fd, held);
	piece->kept = !held;
	return 0;
}

static int rebase_piece(struct attach *attach, struct piece *piece)
{
	struct mount *mount = piece->mount;
	const char *name = piece->elsewhere ? mount->host : mount->virt;
	char *host, *base;
	int r;

	/* What is not where its name is leaves that to whatever else is there, or will be. */
	if ((piece->copy_fd < 0 && !piece->own) || piece->elsewhere)
		attach->view->veiled = true;
	if (piece->copy_fd < 0 && !piece->own)
		return 0; /* its descriptor still tells that nothing is there */
	r = hold_anew(attach, piece, name);
	host = strdup(name);
	base = strdup(mount->flags & MOUNT_FILE ? strrchr(name, '/') + 1 : ".");
	if (r < 0 || !host || !base) {
		free(host);
		free(base);
		return attach_failed(attach, r < 0 ? r : -ENOMEM, "open a mount again");
	}
	free(mount->host);
	free(mount->base);
	mount->host = host;
	mount->host_len = strlen(host);
	mount->base = base;
	return 0;
}

static int set_text(char **slot, size_t *ret_len, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*slot);
	*slot = copy;
	if (ret_len)
		*ret_len = strlen(copy);
	return 0;
}

int view_rebase(struct attach *attach)
{
	struct view *view = attach->view;
	const char *skeleton = view->top == view->root ? "/" : "/" VIEW_ROOT_NAME;
	int standin = openat(attach->tmpfs_fd, VIEW_STANDIN_NAME, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int proc = attach->own_proc_fd >= 0
			   ? view_attach_proc(view, attach->tmpfs_fd, attach->own_proc_fd)
			   : openat2_call(attach->root_fd, "proc", O_PATH | O_DIRECTORY, 0, RESOLVE_STRICT);
	int r = 0;

	if (standin < 0 || proc < 0) {
		cleanup_close(&standin);
		cleanup_close(&proc);
		return attach_failed(attach, -ENOENT, "open /proc again");
	}
	(void)close(view->standin_fd);
	view->standin_fd = standin;
	(void)close(view->proc_fd);
	view->proc_fd = proc;
	for (size_t i = 0; r == 0 && i < attach->pieces; i++)
		r = rebase_piece(attach, &attach->piece[i]);
	if (r == 0 && (set_text(&view->skeleton_host, NULL, skeleton) < 0 ||
		       set_text(&view->standin_host, NULL, "/" VIEW_STANDIN_NAME) < 0 ||
		       set_text(&view->root->host, &view->root->host_len, skeleton) < 0))
		r = attach_failed(attach, -ENOMEM, "name the mounts again");
	view->attached = r == 0;
	return r;
}
