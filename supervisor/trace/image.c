/*
 * The cheap check of a new image, for a program with an ELF loader that was run by its own name, as most are. It looks
 * up three mappings in one file of /proc (Linux 6.11); verify.c opens two files and reads a link. When this check
 * fails, verify.c decides.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/procmap.h"
#include "base/procstat.h"
#include "supervisor/trace/private.h"

#include "base/banned.h"

/* A new stack ends in a null pointer, with the name that the kernel used before it: bprm_mm_init() in fs/exec.c. */
#define STACK_TAIL 8u

static bool image_query_map(int maps_fd, uint64_t addr, uint64_t flags, struct procmap *ret_map)
{
	*ret_map = (struct procmap){.size = sizeof(*ret_map), .addr = addr, .flags = flags};
	return ioctl(maps_fd, PROCMAP_QUERY_CALL, ret_map) == 0;
}

/* The kernel has set the program counter to the loader's first instruction. */
static bool image_is_loader(int maps_fd, uint64_t pc, const struct exec_image *loader)
{
	struct procmap map;

	return image_query_map(maps_fd, pc, 0, &map) && map.ino != 0 && map.ino == loader->maps_ino &&
	       map.major == loader->maps_major && map.minor == loader->maps_minor;
}

/*
 * A new image maps two files, the program and its loader. The lower one must be the approved program, and must not be
 * the loader. On btrfs and overlayfs, whose mappings show other numbers than stat(2), this is always false.
 */
static bool image_is_program(int maps_fd, const struct exec_plan *plan)
{
	const struct exec_image *image = &plan->image;
	struct procmap map;

	return image_query_map(maps_fd, 0, PROCMAP_OR_NEXT | PROCMAP_OF_FILE, &map) && map.ino == image->ino &&
	       map.major == major(image->dev) && map.minor == minor(image->dev) &&
	       !(map.ino == plan->interp.maps_ino && map.major == plan->interp.maps_major &&
		 map.minor == plan->interp.maps_minor);
}

/* Whether this kernel puts the name at the end of the stack: checked on our own. */
static bool image_knows_layout(void)
{
	static _Thread_local enum { UNKNOWN, KNOWN, OTHER } layout;
	uint64_t name = getauxval(AT_EXECFN);

	if (layout == UNKNOWN && name) {
		_cleanup_close_ int maps_fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
		struct procmap map;

		layout = OTHER;
		if (maps_fd >= 0 && image_query_map(maps_fd, name, 0, &map) &&
		    name + strlen((const char *)(uintptr_t)name) + 1 + STACK_TAIL == map.end)
			layout = KNOWN;
	}
	return layout == KNOWN;
}

/* The byte before the name must be 0: else a longer name with the same end would pass. */
static bool image_has_name(const struct memory_ops *guest, pid_t pid, int maps_fd, uint64_t stack, const char *name)
{
	char found[1 + PATH_MAX + 32];
	size_t len = 1 + strlen(name) + 1;
	struct procmap map;

	if (len > sizeof(found) || !image_knows_layout() || !image_query_map(maps_fd, stack, 0, &map) ||
	    map.end < len + STACK_TAIL ||
	    guest->read(pid, map.end - STACK_TAIL - len, found, len) != (ssize_t)len)
		return false;
	return found[0] == '\0' && memcmp(found + 1, name, len - 1) == 0;
}

bool image_is_approved(const struct memory_ops *guest, pid_t pid, const struct exec_plan *plan)
{
	_cleanup_close_ int maps_fd = -1;
	struct arch_regs regs;

	if (plan->detour || !plan->has_interp || arch_read_regs(pid, &regs) < 0)
		return false;
	maps_fd = procstat_open(pid, "maps");
	return maps_fd >= 0 && image_is_loader(maps_fd, arch_pc(&regs), &plan->interp) &&
	       image_is_program(maps_fd, plan) &&
	       image_has_name(guest, pid, maps_fd, arch_stack(&regs), plan->execfn);
}
