#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/trace-private.h"
#include "syscalls/guest.h"

#include "base/banned.h"

#define AUXV_MAX 64

/* One value of the new image's auxiliary vector. 0 with *ret_value (0 when absent), or -errno when it cannot be read. */
static int read_auxv(pid_t pid, uint64_t type, uint64_t *ret_value)
{
	Elf64_auxv_t auxv[AUXV_MAX];
	_cleanup_close_ int fd = -1;
	char path[32];
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid); /* always fits */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = read(fd, auxv, sizeof(auxv));
	if (got < 0)
		return -errno;
	*ret_value = 0;
	for (size_t i = 0; i < (size_t)got / sizeof(*auxv); i++) {
		if (auxv[i].a_type == AT_NULL)
			return 0;
		if (auxv[i].a_type == type)
			*ret_value = auxv[i].a_un.a_val;
	}
	return got > 0 ? 0 : -ESRCH;
}

static const char *verify_program(pid_t pid, const struct exec_image *image)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid); /* always fits */
	if (stat(path, &st) < 0)
		return "exec_unreadable";
	return st.st_dev == image->dev && st.st_ino == image->ino ? NULL : "exec_mismatch";
}

/* The loader runs before the program does, so the name of the program alone says nothing (threat 2). */
static const char *verify_loader(pid_t pid, const struct exec_plan *plan)
{
	struct exec_image found = {0};
	uint64_t base;

	if (read_auxv(pid, AT_BASE, &base) < 0)
		return "exec_unreadable";
	if (!plan->has_interp)
		return base == 0 ? NULL : "loader_mismatch";
	if (base == 0)
		return "loader_mismatch";
	if (exec_maps_find(pid, base + plan->interp_page, &found) < 0)
		return "exec_unreadable";
	if (found.maps_major != plan->interp.maps_major || found.maps_minor != plan->interp.maps_minor ||
	    found.maps_ino != plan->interp.maps_ino)
		return "loader_mismatch";
	return NULL;
}

/*
 * The name the kernel used. A script's file is gone from the image once its interpreter is loaded: the name is what tells
 * an approved one from another with the same interpreter, put in its place by a thread that rewrote the path.
 */
static const char *verify_name(pid_t pid, const struct exec_plan *plan)
{
	char name[PATH_MAX + 32];
	uint64_t addr;

	if (plan->detour)
		return NULL; /* the interpreter itself was run: see verify_rename */
	if (read_auxv(pid, AT_EXECFN, &addr) < 0 ||
	    guest_string(&guest_process, pid, addr, name, sizeof(name), -ENAMETOOLONG) < 0)
		return "exec_unreadable";
	return strcmp(name, plan->execfn) == 0 ? NULL : "exec_mismatch";
}

const char *verify_exec(pid_t pid, const struct exec_plan *plan)
{
	const char *reason = verify_program(pid, &plan->image);

	if (!reason)
		reason = verify_loader(pid, plan);
	return reason ? reason : verify_name(pid, plan);
}

int verify_rename(const struct guest_ops *guest, pid_t pid, const struct exec_plan *plan)
{
	uint64_t addr;
	int r = read_auxv(pid, AT_EXECFN, &addr);

	if (r != 0)
		return r;
	/* The host path was padded, so the room is there. NOLINTNEXTLINE(clang-analyzer-core*): it takes -errno for 0 */
	return guest_write(guest, pid, addr, plan->execfn, strlen(plan->execfn) + 1);
}
