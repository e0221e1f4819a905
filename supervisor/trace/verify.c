#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/procstat.h"
#include "supervisor/trace/private.h"
#include "syscalls/call/memory.h"

#include "base/banned.h"

#define AUXV_MAX 64

/* From the auxiliary vector of the new image; 0: not there. */
struct vector {
	uint64_t base;   /* AT_BASE: address of the loader; 0: there is none */
	uint64_t execfn; /* AT_EXECFN: an address */
};

static int verify_read_auxv(pid_t pid, struct vector *ret_vector)
{
	struct vector vector = {0};
	Elf64_auxv_t auxv[AUXV_MAX];
	_cleanup_close_ int fd = procstat_open(pid, "auxv");
	ssize_t got = fd < 0 ? -1 : read(fd, auxv, sizeof(auxv));

	if (got <= 0)
		return -ESRCH;
	for (size_t i = 0; i < (size_t)got / sizeof(*auxv) && auxv[i].a_type != AT_NULL; i++) {
		if (auxv[i].a_type == AT_BASE)
			vector.base = auxv[i].a_un.a_val;
		else if (auxv[i].a_type == AT_EXECFN)
			vector.execfn = auxv[i].a_un.a_val;
	}
	*ret_vector = vector;
	return 0;
}

static const char *verify_program_file(pid_t pid, const struct exec_image *image)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid); /* always fits */
	if (stat(path, &st) < 0)
		return "exec_unreadable";
	return st.st_dev == image->dev && st.st_ino == image->ino ? NULL : "exec_mismatch";
}

/* The loader runs before the program, so the program alone proves nothing (threat 2 of doc/security.md). */
static const char *verify_loader_file(pid_t pid, const struct exec_plan *plan, uint64_t base)
{
	struct exec_image found = {0};

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
 * The name that the kernel used. The image of a script shows its interpreter only. The name tells the approved script
 * from another one with the same interpreter, which a thread could have put there by rewriting the path (TOCTOU).
 */
static const char *verify_exec_name(pid_t pid, const struct exec_plan *plan, uint64_t addr)
{
	char name[PATH_MAX + 32];

	if (plan->detour)
		return NULL; /* the interpreter itself was run: see verify_set_exec_name */
	if (memory_copy_string(&memory_of_process, pid, addr, name, sizeof(name), -ENAMETOOLONG) < 0)
		return "exec_unreadable";
	return strcmp(name, plan->execfn) == 0 ? NULL : "exec_mismatch";
}

/* Makes AT_EXECFN what the program named. The host path was padded, so there is room. */
static const char *verify_set_exec_name(const struct memory_ops *guest, pid_t pid, const struct exec_plan *plan,
					uint64_t addr)
{
	if (!plan->detour || memory_copy_out(guest, pid, addr, plan->execfn, strlen(plan->execfn) + 1) == 0)
		return NULL;
	return "exec_unreadable";
}

const char *verify_exec_image(const struct memory_ops *guest, pid_t pid, const struct exec_plan *plan)
{
	struct vector vector = {0};
	const char *reason;

	if (image_is_approved(guest, pid, plan))
		return NULL;
	reason = verify_program_file(pid, &plan->image);
	if (!reason && verify_read_auxv(pid, &vector) < 0)
		reason = "exec_unreadable";
	if (!reason)
		reason = verify_loader_file(pid, plan, vector.base);
	if (!reason)
		reason = verify_exec_name(pid, plan, vector.execfn);
	return reason ? reason : verify_set_exec_name(guest, pid, plan, vector.execfn);
}
