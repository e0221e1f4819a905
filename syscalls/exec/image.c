/* Identifies executable files, and frees plans: see execve.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/map.h"
#include "syscalls/exec/execve.h"

#define IMAGE_PAGE_BYTES 4096u
#define IMAGE_CACHE_SLOTS 16u /* ELF files whose image was checked, which are remembered */

void exec_plan_free(struct exec_plan *plan)
{
	if (!plan)
		return;
	free(plan->loader_path);
	free(plan->loader_virtual_path);
	free(plan->virtual_path);
	free(plan->host_path);
	free(plan->execfn);
	free(plan->asked);
	for (char **text = plan->argv_head; text && *text; text++)
		free(*text);
	free(plan->argv_head);
	free(plan);
}

/*
 * Caches what /proc/PID/maps shows of a file (exec_image.maps_major and so on). A file has to be mapped to read that,
 * which takes 100 µs, and nearly every program has the same loader.
 */
struct cached_image {
	struct exec_image image;
	struct timespec ctime; /* differs if the inode number was reused */
};

static _Thread_local struct cached_image image_cache[IMAGE_CACHE_SLOTS];

/* Finds the mapping by PROCMAP_QUERY. -ENOTTY: the kernel is older than 6.11. */
static int maps_find_mapping_by_ioctl(int maps_fd, uint64_t addr, struct exec_image *ret_image)
{
	struct procmap query = {.size = sizeof(query), .addr = addr};

	if (ioctl(maps_fd, PROCMAP_QUERY_IOCTL, &query) < 0)
		return -errno;
	if (query.start != addr || query.ino == 0)
		return -ENOENT;
	ret_image->maps_major = query.major;
	ret_image->maps_minor = query.minor;
	ret_image->maps_ino = query.ino;
	return 0;
}

/* Finds the mapping in the text of /proc/PID/maps. Takes the descriptor. */
static int maps_find_mapping_in_text(int maps_fd, uint64_t addr, struct exec_image *ret_image)
{
	_cleanup_fclose_ FILE *maps = fdopen(maps_fd, "r");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	if (!maps) {
		(void)close(maps_fd);
		return -ENOMEM;
	}
	while (getline(&line, &cap, maps) > 0) {
		struct exec_image image = *ret_image;
		uint64_t start;

		/* proc_pid_maps(5): "START-END PERMS OFFSET MAJOR:MINOR INODE  NAME" */
		if (sscanf(line, "%" SCNx64 "-%*x %*s %*x %x:%x %" SCNu64, &start, &image.maps_major, &image.maps_minor,
			   &image.maps_ino) != 4 || start != addr)
			continue;
		if (image.maps_ino == 0)
			return -ENOENT;
		*ret_image = image;
		return 0;
	}
	return ferror(maps) ? -EIO : -ENOENT;
}

int exec_maps_find_mapping(pid_t pid, uint64_t addr, struct exec_image *ret_image)
{
	char path[32] = "/proc/self/maps";
	_cleanup_close_ int fd = -1;
	int r;

	if (pid)
		(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = maps_find_mapping_by_ioctl(fd, addr, ret_image);
	return r == -ENOTTY ? maps_find_mapping_in_text(steal_fd(&fd), addr, ret_image) : r;
}

int exec_image_read_identity(int fd, const struct stat *st, struct exec_image *ret_image)
{
	struct cached_image *slot = &image_cache[(st->st_ino ^ st->st_dev) % IMAGE_CACHE_SLOTS];
	struct exec_image image = {.dev = st->st_dev, .ino = st->st_ino};
	void *page;
	int r;

	if (slot->image.ino == st->st_ino && slot->image.dev == st->st_dev &&
	    slot->ctime.tv_sec == st->st_ctim.tv_sec && slot->ctime.tv_nsec == st->st_ctim.tv_nsec) {
		*ret_image = slot->image;
		return 0;
	}
	/* The mapped page is never accessed, so truncating the file raises no SIGBUS. */
	page = mmap(NULL, IMAGE_PAGE_BYTES, PROT_NONE, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	r = exec_maps_find_mapping(0, (uint64_t)(uintptr_t)page, &image);
	(void)munmap(page, IMAGE_PAGE_BYTES);
	if (r < 0)
		return r;
	slot->image = image;
	slot->ctime = st->st_ctim;
	*ret_image = image;
	return 0;
}
