#include "syscalls/exec/cache.h"

#include <fcntl.h>
#include <time.h>

#include "base/elf-machine.h"

#define EXEC_CACHE_PROGRAMS_MAX 64u /* executables whose ELF headers are remembered */
/*
 * A file is not cached until this long after its last change: a second change may get the same ctime, which has a
 * tick's resolution.
 */
#define EXEC_CACHE_FILE_AGE_MIN_S 2

/* Identifies a version of a file: these fields differ if it is another file, or was changed. */
struct file_version {
	dev_t dev;
	ino_t ino;
	mode_t mode;
	off_t size;
	struct timespec mtime, ctime;
};

/* A program that was inspected, and the version of its file. */
struct known_program {
	struct file_version version;
	/* the mount is compared as well, because another mount with the same file may be noexec */
	const struct mount *mount;
	struct exec_program program;
};

/* A dynamic loader that was inspected, and the version of its file. */
struct known_loader {
	struct file_version version;
	struct exec_loader loader;
};

static const char *const own_loaders[] = ELF_LOADERS;

/* Thread-local, because only the supervisor thread judges execs. */
static _Thread_local struct known_program programs[EXEC_CACHE_PROGRAMS_MAX];
static _Thread_local struct known_loader loaders[sizeof(own_loaders) / sizeof(own_loaders[0])];

static bool file_version_is_same_time(const struct timespec *one, const struct timespec *other)
{
	return one->tv_sec == other->tv_sec && one->tv_nsec == other->tv_nsec;
}

static bool file_version_matches(const struct file_version *version, const struct stat *st)
{
	return version->ino == st->st_ino && version->dev == st->st_dev && version->mode == st->st_mode &&
	       version->size == st->st_size && file_version_is_same_time(&version->mtime, &st->st_mtim) &&
	       file_version_is_same_time(&version->ctime, &st->st_ctim);
}

static struct file_version file_version_make(const struct stat *st)
{
	return (struct file_version){st->st_dev, st->st_ino, st->st_mode, st->st_size, st->st_mtim, st->st_ctim};
}

/* Whether the file may be kept: the run cannot write it, and it was not changed just now. */
static bool cache_may_keep_file(const struct call *call, const struct place *place, const struct stat *st)
{
	const unsigned special = MOUNT_PROC | MOUNT_DEVICE | MOUNT_TTY;
	struct timespec now;

	if (place->is_magic_link || !place->mount || place->mount->flags & special ||
	    policy_get_rights(call->sandbox->policy, place->virt, place->virt_len) & POLICY_WRITE)
		return false;
	return clock_gettime(CLOCK_REALTIME, &now) == 0 && st->st_ctim.tv_sec < now.tv_sec - EXEC_CACHE_FILE_AGE_MIN_S;
}

/* The only slot that may have this program; it may have another one. */
static struct known_program *cache_get_program_slot(const struct stat *st)
{
	return &programs[(st->st_ino ^ st->st_dev) % EXEC_CACHE_PROGRAMS_MAX];
}

bool exec_cache_find_program(const struct place *place, const struct stat *st, struct exec_program *ret_program)
{
	const struct known_program *known = cache_get_program_slot(st);

	if (!file_version_matches(&known->version, st) || known->mount != place->mount)
		return false;
	*ret_program = known->program;
	return true;
}

void exec_cache_add_program(const struct call *call, const struct place *place, const struct stat *st,
			     const struct elf_facts *facts)
{
	struct known_program *known = cache_get_program_slot(st);
	size_t len = facts->is_dynamic ? strlen(facts->interp) : 0;

	if (len >= EXEC_INTERP_BYTES_MAX || !cache_may_keep_file(call, place, st))
		return;
	known->version = file_version_make(st);
	known->mount = place->mount;
	known->program.is_dynamic = facts->is_dynamic;
	known->program.layout = facts->layout;
	memcpy(known->program.interp, facts->interp, len);
	known->program.interp[len] = '\0';
}

/* The only slot that may have this loader; it may have another one. */
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
	if (!known || !known->version.ino || fstatat(AT_FDCWD, text, &st, 0) < 0 ||
	    !file_version_matches(&known->version, &st))
		return false;
	*ret_loader = known->loader;
	return true;
}

void exec_cache_add_loader(const struct call *call, const struct place *place, const char *text, const struct stat *st,
			    const struct exec_loader *loader)
{
	struct known_loader *known = cache_get_loader_slot(text);

	if (!known || !cache_may_keep_file(call, place, st))
		return;
	known->version = file_version_make(st);
	known->loader = *loader;
}
