#include "syscalls/exec/cache.h"

#include <fcntl.h>
#include <time.h>

#include "base/elf-machine.h"

#define CACHE_PROGRAMS 64u
/* A younger file could change again without a new ctime, which has the resolution of a tick. */
#define CACHE_SETTLED_S 2

/* The fields that differ when a file is another one, or was changed. */
struct stamp {
	dev_t dev;
	ino_t ino;
	mode_t mode;
	off_t size;
	struct timespec mtime, ctime;
};

struct known_program {
	struct stamp stamp;
	const struct mount *mount; /* another mount may be noexec */
	struct exec_program program;
};

struct known_loader {
	struct stamp stamp;
	struct exec_loader loader;
};

static const char *const own_loaders[] = ELF_LOADERS;

/* Only the supervisor thread judges execs. */
static _Thread_local struct known_program programs[CACHE_PROGRAMS];
static _Thread_local struct known_loader loaders[sizeof(own_loaders) / sizeof(own_loaders[0])];

static bool stamp_is_same_time(const struct timespec *one, const struct timespec *other)
{
	return one->tv_sec == other->tv_sec && one->tv_nsec == other->tv_nsec;
}

static bool stamp_matches(const struct stamp *stamp, const struct stat *st)
{
	return stamp->ino == st->st_ino && stamp->dev == st->st_dev && stamp->mode == st->st_mode &&
	       stamp->size == st->st_size && stamp_is_same_time(&stamp->mtime, &st->st_mtim) &&
	       stamp_is_same_time(&stamp->ctime, &st->st_ctim);
}

static struct stamp stamp_make(const struct stat *st)
{
	return (struct stamp){st->st_dev, st->st_ino, st->st_mode, st->st_size, st->st_mtim, st->st_ctim};
}

/* True for a file that the run cannot write and no process has changed just now. */
static bool cache_may_keep_file(const struct call *call, const struct place *place, const struct stat *st)
{
	const unsigned special = MOUNT_PROC | MOUNT_DEVICE | MOUNT_TTY;
	struct timespec now;

	if (place->magic || !place->mount || place->mount->flags & special ||
	    policy_get_rights(call->sandbox->policy, place->virt, place->virt_len) & POLICY_WRITE)
		return false;
	return clock_gettime(CLOCK_REALTIME, &now) == 0 && st->st_ctim.tv_sec < now.tv_sec - CACHE_SETTLED_S;
}

static struct known_program *cache_get_program_slot(const struct stat *st)
{
	return &programs[(st->st_ino ^ st->st_dev) % CACHE_PROGRAMS];
}

bool exec_cache_find_program(const struct place *place, const struct stat *st, struct exec_program *ret_program)
{
	const struct known_program *known = cache_get_program_slot(st);

	if (!stamp_matches(&known->stamp, st) || known->mount != place->mount)
		return false;
	*ret_program = known->program;
	return true;
}

void exec_cache_keep_program(const struct call *call, const struct place *place, const struct stat *st,
			     const struct elf_facts *facts)
{
	struct known_program *known = cache_get_program_slot(st);
	size_t len = facts->dynamic ? strlen(facts->interp) : 0;

	if (len >= EXEC_INTERP_MAX || !cache_may_keep_file(call, place, st))
		return;
	known->stamp = stamp_make(st);
	known->mount = place->mount;
	known->program.dynamic = facts->dynamic;
	memcpy(known->program.interp, facts->interp, len);
	known->program.interp[len] = '\0';
}

static struct known_loader *cache_get_loader_slot(const char *text)
{
	for (size_t i = 0; i < sizeof(own_loaders) / sizeof(own_loaders[0]); i++)
		if (!strcmp(text, own_loaders[i]))
			return &loaders[i];
	return NULL;
}

bool exec_cache_is_system_loader(const char *text)
{
	return cache_get_loader_slot(text);
}

bool exec_cache_find_loader(const char *text, struct exec_loader *ret_loader)
{
	const struct known_loader *known = cache_get_loader_slot(text);
	struct stat st;

	/* An empty entry has the inode number 0, which no file has. */
	if (!known || !known->stamp.ino || fstatat(AT_FDCWD, text, &st, 0) < 0 || !stamp_matches(&known->stamp, &st))
		return false;
	*ret_loader = known->loader;
	return true;
}

void exec_cache_keep_loader(const struct call *call, const struct place *place, const char *text, const struct stat *st,
			    const struct exec_loader *loader)
{
	struct known_loader *known = cache_get_loader_slot(text);

	if (!known || !cache_may_keep_file(call, place, st))
		return;
	known->stamp = stamp_make(st);
	known->loader = *loader;
}
