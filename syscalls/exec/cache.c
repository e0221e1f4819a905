#include "syscalls/exec/cache.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/elf-machine.h"

#include "base/banned.h"

#define PROGRAMS 64u
/* What changed later than this before it was looked at could change again without another time (coarse clocks). */
#define SETTLED_S 2

/* Status that says whether a file is the same, and unchanged. */
struct stamp {
	dev_t dev;
	ino_t ino;
	mode_t mode;
	off_t size;
	struct timespec mtime, ctime;
};

struct known_program {
	struct stamp stamp;
	const struct mount *mount; /* by another one it may be not executable */
	struct exec_program program;
};

struct known_loader {
	struct stamp stamp;
	struct exec_loader loader;
};

static const char *const own_loaders[] = ELF_LOADERS;

/* As in exec-image.c: the one thread that receives judges execs. */
static _Thread_local struct known_program programs[PROGRAMS];
static _Thread_local struct known_loader loaders[sizeof(own_loaders) / sizeof(own_loaders[0])];

static bool same_time(const struct timespec *one, const struct timespec *other)
{
	return one->tv_sec == other->tv_sec && one->tv_nsec == other->tv_nsec;
}

static bool stamp_holds(const struct stamp *stamp, const struct stat *st)
{
	return stamp->ino == st->st_ino && stamp->dev == st->st_dev && stamp->mode == st->st_mode &&
	       stamp->size == st->st_size && same_time(&stamp->mtime, &st->st_mtim) &&
	       same_time(&stamp->ctime, &st->st_ctim);
}

static struct stamp stamp_of(const struct stat *st)
{
	return (struct stamp){st->st_dev, st->st_ino, st->st_mode, st->st_size, st->st_mtim, st->st_ctim};
}

/* True for what the run cannot write, and nobody has written just now. */
static bool is_settled(const struct call *call, const struct place *place, const struct stat *st)
{
	const unsigned special = MOUNT_PROC | MOUNT_DEVICE | MOUNT_TTY;
	struct timespec now;

	if (place->magic || !place->mount || place->mount->flags & special ||
	    policy_rights(call->sandbox->policy, place->virt, place->virt_len) & POLICY_WRITE)
		return false;
	return clock_gettime(CLOCK_REALTIME, &now) == 0 && st->st_ctim.tv_sec < now.tv_sec - SETTLED_S;
}

static struct known_program *program_slot(const struct stat *st)
{
	return &programs[(st->st_ino ^ st->st_dev) % PROGRAMS];
}

bool exec_cache_program(const struct place *place, const struct stat *st, struct exec_program *ret_program)
{
	const struct known_program *known = program_slot(st);

	if (!stamp_holds(&known->stamp, st) || known->mount != place->mount)
		return false;
	*ret_program = known->program;
	return true;
}

void exec_cache_keep_program(const struct call *call, const struct place *place, const struct stat *st,
			     const struct elf_facts *facts)
{
	struct known_program *known = program_slot(st);
	size_t len = facts->dynamic ? strlen(facts->interp) : 0;

	if (len >= EXEC_INTERP_MAX || !is_settled(call, place, st))
		return;
	known->stamp = stamp_of(st);
	known->mount = place->mount;
	known->program.dynamic = facts->dynamic;
	memcpy(known->program.interp, facts->interp, len);
	known->program.interp[len] = '\0';
}

static struct known_loader *loader_slot(const char *text)
{
	for (size_t i = 0; i < sizeof(own_loaders) / sizeof(own_loaders[0]); i++)
		if (!strcmp(text, own_loaders[i]))
			return &loaders[i];
	return NULL;
}

bool exec_cache_loader(const char *text, struct exec_loader *ret_loader)
{
	const struct known_loader *known = loader_slot(text);
	struct stat st;

	/* Empty entries have no inode number, and no file has the number 0. */
	if (!known || !known->stamp.ino || fstatat(AT_FDCWD, text, &st, 0) < 0 || !stamp_holds(&known->stamp, &st))
		return false;
	*ret_loader = known->loader;
	return true;
}

void exec_cache_keep_loader(const struct call *call, const struct place *place, const char *text, const struct stat *st,
			    const struct exec_loader *loader)
{
	struct known_loader *known = loader_slot(text);

	if (!known || !is_settled(call, place, st))
		return;
	known->stamp = stamp_of(st);
	known->loader = *loader;
}
