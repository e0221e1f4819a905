/* Verifies at the stop of an exec that the kernel has loaded the approved files. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/map.h"
#include "base/proc/stat.h"
#include "supervisor/trace/private.h"
#include "syscalls/call/memory.h"

#define AUXV_ENTRIES_MAX 64 /* entries of /proc/PID/auxv that are read */
/* how much is read of a new stack: the arguments, the environment and the auxiliary vector */
#define NEW_STACK_START_READ_BYTES 4096u

/* Entries of the new image's auxiliary vector; 0: no such entry. */
struct auxv_entries {
	uint64_t at_base;   /* AT_BASE: address of the loader; 0: no loader */
	uint64_t at_execfn; /* AT_EXECFN: address of the exec's file name */
	uint64_t entry, headers_addr, headers; /* AT_ENTRY, AT_PHDR, AT_PHNUM, of the program */
};

/* Copies the entries that are needed. False: AT_NULL is missing, so some may be. */
static bool auxv_read_entries(const Elf64_auxv_t *auxv, size_t count, struct auxv_entries *vector)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = auxv[i].a_un.a_val;

		switch (auxv[i].a_type) {
		case AT_NULL:
			return true;
		case AT_BASE:
			vector->at_base = value;
			break;
		case AT_EXECFN:
			vector->at_execfn = value;
			break;
		case AT_ENTRY:
			vector->entry = value;
			break;
		case AT_PHDR:
			vector->headers_addr = value;
			break;
		case AT_PHNUM:
			vector->headers = value;
			break;
		default:
			break;
		}
	}
	return false;
}

static int verify_read_auxv(pid_t pid, struct auxv_entries *ret_vector)
{
	struct auxv_entries vector = {0};
	Elf64_auxv_t auxv[AUXV_ENTRIES_MAX];
	_cleanup_close_ int fd = procstat_open_file(pid, "auxv");
	ssize_t got = fd < 0 ? -1 : read(fd, auxv, sizeof(auxv));

	if (got <= 0)
		return -ESRCH;
	/* an entry that is missing stays 0, which then does not match the plan */
	(void)auxv_read_entries(auxv, (size_t)got / sizeof(*auxv), &vector);
	*ret_vector = vector;
	return 0;
}

/* Whether /proc/PID/exe is the file that was judged. NULL: it is; else the reason for the record. */
static const char *verify_program_file(pid_t pid, const struct exec_image *image)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid); /* always fits */
	if (stat(path, &st) < 0)
		return "exec_unreadable";
	return st.st_dev == image->dev && st.st_ino == image->ino ? NULL : "exec_mismatch";
}

/*
 * Verifies the loader, which runs before the program. That the program is approved proves nothing about its loader
 * (threat 2 of doc/security.md).
 */
static const char *verify_loader_file(pid_t pid, const struct exec_plan *plan, uint64_t base)
{
	struct exec_image found = {0};

	if (!plan->has_loader)
		return base == 0 ? NULL : "loader_mismatch";
	if (base == 0)
		return "loader_mismatch";
	if (exec_maps_find_mapping(pid, base + plan->loader_first_page_offset, &found) < 0)
		return "exec_unreadable";
	if (found.maps_major != plan->loader_image.maps_major || found.maps_minor != plan->loader_image.maps_minor ||
	    found.maps_ino != plan->loader_image.maps_ino)
		return "loader_mismatch";
	return NULL;
}

/*
 * Verifies the file name that the kernel used. The image of a script shows only its interpreter. The name distinguishes
 * the approved script from another script, which a thread could have named by rewriting the path (TOCTOU).
 */
static const char *verify_file_name_of_exec(pid_t pid, const struct exec_plan *plan, uint64_t addr)
{
	char name[PATH_MAX + 32];

	if (plan->needs_restart)
		return NULL; /* the interpreter itself was executed: see verify_and_restore_execfn() */
	if (memory_copy_string(&memory_of_process, pid, addr, name, sizeof(name), -ENAMETOOLONG) < 0)
		return "exec_unreadable";
	return strcmp(name, plan->execfn) == 0 ? NULL : "exec_mismatch";
}

/* Sets AT_EXECFN to the name that the program gave. There is room, because the host path was padded. */
static const char *verify_and_restore_execfn(const struct memory_ops *memory, pid_t pid, const struct exec_plan *plan,
					     uint64_t addr)
{
	if (!plan->needs_restart || memory_copy_out(memory, pid, addr, plan->execfn, strlen(plan->execfn) + 1) == 0)
		return NULL;
	return "exec_unreadable";
}

/* The null pointer at the end of a new stack, behind the file name that the kernel used: bprm_mm_init(), fs/exec.c. */
#define NEW_STACK_END_BYTES 8u

/* Asks the kernel by PROCMAP_QUERY which mapping has the address. False: none, or no such ioctl. */
static bool image_query_map(int maps_fd, uint64_t addr, uint64_t flags, struct procmap *ret_map)
{
	*ret_map = (struct procmap){.size = sizeof(*ret_map), .addr = addr, .flags = flags};
	return ioctl(maps_fd, PROCMAP_QUERY_IOCTL, ret_map) == 0;
}

/* Whether the program counter is in the loader: the kernel sets it to the loader's first instruction. */
static bool image_is_loader(int maps_fd, uint64_t pc, const struct exec_image *loader)
{
	struct procmap map;

	return image_query_map(maps_fd, pc, 0, &map) && map.ino != 0 && map.ino == loader->maps_ino &&
	       map.major == loader->maps_major && map.minor == loader->maps_minor;
}

/*
 * Whether the image is the approved program. A new image maps two files, the program and its loader. The lower one must
 * be the approved program and not the loader. False on btrfs and overlayfs, whose mappings show other numbers than
 * stat(2).
 */
static bool image_is_program(int maps_fd, const struct exec_plan *plan)
{
	const struct exec_image *image = &plan->image;
	struct procmap map;

	return image_query_map(maps_fd, 0, PROCMAP_COVERING_OR_NEXT_VMA | PROCMAP_FILE_BACKED_VMA, &map) &&
	       map.ino == image->ino && map.major == major(image->dev) && map.minor == minor(image->dev) &&
	       !(map.ino == plan->loader_image.maps_ino && map.major == plan->loader_image.maps_major &&
		 map.minor == plan->loader_image.maps_minor);
}

/* Whether this kernel puts the file name at the end of the stack. Checked on the supervisor's own stack. */
static bool image_stack_layout_is_known(void)
{
	static _Thread_local enum { UNKNOWN, KNOWN, OTHER } layout;
	uint64_t name = getauxval(AT_EXECFN);

	if (layout == UNKNOWN && name) {
		_cleanup_close_ int maps_fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
		struct procmap map;

		layout = OTHER;
		if (maps_fd >= 0 && image_query_map(maps_fd, name, 0, &map) &&
		    name + strlen((const char *)(uintptr_t)name) + 1 + NEW_STACK_END_BYTES == map.end)
			layout = KNOWN;
	}
	return layout == KNOWN;
}

/* Whether the stack ends with the name. The byte before it must be 0: a longer name with the same end must not pass. */
static bool image_stack_ends_with_file_name(const struct memory_ops *memory, pid_t pid, int maps_fd, uint64_t stack,
					    const char *name)
{
	char found[1 + PATH_MAX + 32];
	size_t len = 1 + strlen(name) + 1;
	struct procmap map;

	if (len > sizeof(found) || !image_stack_layout_is_known() || !image_query_map(maps_fd, stack, 0, &map) ||
	    map.end < len + NEW_STACK_END_BYTES ||
	    memory->read(pid, map.end - NEW_STACK_END_BYTES - len, found, len) != (ssize_t)len)
		return false;
	return found[0] == '\0' && memcmp(found + 1, name, len - 1) == 0;
}

/*
 * The cheap verification, for a program with an ELF loader that was executed by its own name, as most are. It looks up
 * three mappings in one file of /proc (Linux 6.11); the other checks open two files and read a link. False: the other
 * checks decide.
 */
static bool image_is_approved_by_quick_check(const struct memory_ops *memory, pid_t pid, const struct exec_plan *plan)
{
	_cleanup_close_ int maps_fd = -1;
	struct arch_regs regs;

	if (plan->needs_restart || !plan->has_loader || arch_read_regs(pid, &regs) < 0)
		return false;
	maps_fd = procstat_open_file(pid, "maps");
	return maps_fd >= 0 && image_is_loader(maps_fd, arch_get_pc(&regs), &plan->loader_image) &&
	       image_is_program(maps_fd, plan) &&
	       image_stack_ends_with_file_name(memory, pid, maps_fd, arch_get_stack_pointer(&regs), plan->execfn);
}

/* ---- verifying an exec by the name that the kernel used ---- */

/* Finds the auxiliary vector in a new stack, behind argc, argv and the environment (create_elf_tables()). */
static bool stack_find_auxv(const uint64_t *word, size_t words, struct auxv_entries *ret_vector)
{
	struct auxv_entries vector = {0};
	size_t at = 1;

	if (words == 0 || word[0] >= words)
		return false;
	for (at += word[0] + 1; at < words && word[at]; at++) /* word[0] is argc */
		;
	at++;
	if (at >= words || !auxv_read_entries((const void *)(word + at), (words - at) / 2, &vector))
		return false;
	*ret_vector = vector;
	return true;
}

/* Whether target memory has this text at addr, as AT_EXECFN of the new image must. */
static bool image_has_name(const struct memory_ops *memory, pid_t pid, uint64_t addr, const char *name)
{
	char found[PATH_MAX + 32];
	size_t len = strlen(name) + 1;

	return len <= sizeof(found) && memory->read(pid, addr, found, len) == (ssize_t)len && !memcmp(found, name, len);
}

/* Whether the kernel has loaded a program and a loader of the layout that was judged: no other format took over. */
static bool image_has_layout(const struct auxv_entries *vector, uint64_t pc, const struct exec_plan *plan)
{
	return vector->headers == plan->layout.phdr_count &&
	       vector->entry - vector->headers_addr == plan->layout.entry_minus_phdr &&
	       pc == (plan->has_loader ? vector->at_base + plan->loader_entry_offset : vector->entry) &&
	       plan->has_loader == (vector->at_base != 0);
}

/*
 * The cheapest verification, without a look into /proc/PID: the kernel has used the judged name, and the run can lead
 * that name to no other file. The name is the kernel's own copy at the end of the new stack. Only processes of the run
 * that write other processes' memory could change it. False: the other checks decide.
 */
static bool image_is_approved_by_name(const struct sandbox *sandbox, pid_t pid, const struct exec_plan *plan)
{
	uint64_t stack[NEW_STACK_START_READ_BYTES / sizeof(uint64_t)];
	struct auxv_entries vector;
	struct arch_regs regs;
	ssize_t got;

	if (!plan->path_proves_loaded_files || ptrace_run_may_write_memory(sandbox) || arch_read_regs(pid, &regs) < 0)
		return false;
	got = sandbox->target_memory->read(pid, arch_get_stack_pointer(&regs), stack, sizeof(stack));
	return got > 0 && stack_find_auxv(stack, (size_t)got / sizeof(*stack), &vector) &&
	       image_has_layout(&vector, arch_get_pc(&regs), plan) &&
	       image_has_name(sandbox->target_memory, pid, vector.at_execfn, plan->execfn);
}

const char *verify_exec_image(const struct sandbox *sandbox, pid_t pid, const struct exec_plan *plan)
{
	const struct memory_ops *memory = sandbox->target_memory;
	struct auxv_entries vector = {0};
	const char *reason;

	if (image_is_approved_by_name(sandbox, pid, plan) || image_is_approved_by_quick_check(memory, pid, plan))
		return NULL;
	reason = verify_program_file(pid, &plan->image);
	if (!reason && verify_read_auxv(pid, &vector) < 0)
		reason = "exec_unreadable";
	if (!reason)
		reason = verify_loader_file(pid, plan, vector.at_base);
	if (!reason)
		reason = verify_file_name_of_exec(pid, plan, vector.at_execfn);
	return reason ? reason : verify_and_restore_execfn(memory, pid, plan, vector.at_execfn);
}
