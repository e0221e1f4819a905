/* Files whose content the policy or the run gives. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "view/build.h"

#include "base/banned.h"

/* hold_dir for the skeleton, which may have its name in no mount namespace yet. */
static int hold_own_dir(const struct build *build, const char *host, const char *virt, struct held **ret_held)
{
	char name[PATH_MAX], dir[PATH_MAX];
	int fd;

	view_build_dir_of(host, name);
	view_build_dir_of(virt, dir);
	*ret_held = view_held(build->view, name);
	if (*ret_held)
		return 0;
	fd = openat2_call(build->view->root->fd, *dir ? dir + 1 : ".", O_PATH | O_DIRECTORY, 0,
			  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		return fd;
	*ret_held = view_hold(build->view, name, fd);
	return *ret_held ? 0 : -ENOMEM;
}

/* In the skeleton, where nothing has to be mounted for it. */
static int add_own(struct build *build, const char *virt, const void *text, size_t len, unsigned flags, const char *rule)
{
	_cleanup_free_ char *host = NULL;
	struct held *held = NULL;
	int r = view_skeleton_file(build->view, virt, text, len);

	if (r == 0 && asprintf(&host, "%s%s", build->view->skeleton_host, virt) < 0) {
		host = NULL; /* undefined after a failure */
		r = -ENOMEM;
	}
	if (r == 0)
		r = hold_own_dir(build, host, virt, &held);
	return r < 0 ? r : view_add_file(build->view, virt, host, held, flags | MOUNT_OWN, rule);
}

/* Content that the policy or the run supplies: below a granted tree it is a read-only file of the scratch space. */
static int add_text(struct build *build, const char *name, const char *virt, const void *text, size_t len, unsigned flags,
		    const char *rule)
{
	char host[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	flags |= MOUNT_PROVIDED | MOUNT_PRIVATE;
	if (!view_covered(build->view, virt))
		return add_own(build, virt, text, len, flags, rule);
	if (mkdirat(build->options->scratch_fd, "provided", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(build->options->scratch_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	r = io_write_full(fd, text, len);
	if (r < 0)
		return r;
	(void)snprintf(host, sizeof(host), "%s/%s", build->options->scratch_host, name);
	return view_build_file(build, virt, host, -1, flags, rule);
}

int view_build_provided(struct build *build, const struct policy_mount *grant, size_t index)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "provided/%zu", index);
	return add_text(build, name, grant->virt, grant->text, grant->text_len, 0, grant->rule);
}

bool view_build_is_provided(const struct build *build, const char *virt)
{
	for (size_t i = 0; i < build->options->provides; i++)
		if (strcmp(build->options->provide[i].virt, virt) == 0)
			return true;
	return false;
}

int view_build_run_provides(struct build *build)
{
	char name[40];

	for (size_t i = 0; i < build->options->provides; i++) {
		const struct view_provide *file = &build->options->provide[i];
		int r;

		(void)snprintf(name, sizeof(name), "provided/run-%zu", i);
		r = add_text(build, name, file->virt, file->text, file->text_len, MOUNT_RUN, NULL);
		if (r < 0)
			return view_build_fail(build, r, "cannot provide", file->virt);
	}
	return 0;
}
