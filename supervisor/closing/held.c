/*
 * Lists the descriptors and mappings of a thread by which data could leave the run: those for writing, and internet
 * sockets.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/fdinfo.h"
#include "base/io.h"
#include "supervisor/closing/private.h"

#define PROC_NET_SOCKETS_BYTES_MAX (32u << 20) /* of /proc/net/tcp and the like that are read */
#define DELETED_FILE_SUFFIX " (deleted)"       /* appended by the kernel to the path of an unlinked file */

/* ---- internet sockets ---- */

static int held_compare_uint64(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static int held_add_inet_socket(struct held_sockets *sockets, uint64_t ino)
{
	uint64_t *more;

	if (sockets->count % 256 == 0) {
		more = reallocarray(sockets->ino, sockets->count + 256, sizeof(*more));
		if (!more)
			return -ENOMEM;
		sockets->ino = more;
	}
	sockets->ino[sockets->count++] = ino;
	return 0;
}

/* Adds the tenth field, the inode number, of each line but the first: proc_pid_net(5). */
static int held_parse_inet_sockets(const char *text, struct held_sockets *sockets)
{
	for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
		uint64_t ino;

		if (sscanf(line + 1, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64, &ino) != 1)
			return -EBADMSG;
		if (ino && held_add_inet_socket(sockets, ino) < 0)
			return -ENOMEM;
	}
	return 0;
}

int held_list_inet_sockets(struct held_sockets *ret_sockets)
{
	static const char *const files[] = {"/proc/self/net/tcp", "/proc/self/net/tcp6", "/proc/self/net/udp",
					    "/proc/self/net/udp6"};
	int r = 0;

	*ret_sockets = (struct held_sockets){.count = 0};
	for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		_cleanup_free_ char *text = NULL;
		size_t len;

		r = io_read_file(AT_FDCWD, files[i], PROC_NET_SOCKETS_BYTES_MAX, &text, &len);
		if (r == -ENOENT) /* without IPv6 */
			r = 0;
		else if (r == 0)
			r = held_parse_inet_sockets(text, ret_sockets);
	}
	if (ret_sockets->count > 0)
		qsort(ret_sockets->ino, ret_sockets->count, sizeof(*ret_sockets->ino), held_compare_uint64);
	return r;
}

void held_sockets_release(struct held_sockets *sockets)
{
	free(sockets->ino);
	*sockets = (struct held_sockets){.count = 0};
}

/* Whether the inode number is that of a bound or connected internet socket. */
static bool held_is_inet_socket(const struct held_sockets *sockets, uint64_t ino)
{
	return sockets->count > 0 && bsearch(&ino, sockets->ino, sockets->count, sizeof(ino), held_compare_uint64);
}

/* ---- the list of descriptors and mappings to remove ---- */

static int held_append_item(struct held_list *list, struct held_item item, const char *path)
{
	struct held_item *more;

	if (list->count % 64 == 0) {
		more = reallocarray(list->item, list->count + 64, sizeof(*more));
		if (!more)
			return -ENOMEM;
		list->item = more;
	}
	item.path = path ? strdup(path) : NULL;
	if (path && !item.path)
		return -ENOMEM;
	list->item[list->count++] = item;
	return 0;
}

void held_list_release(struct held_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->item[i].path);
	free(list->item);
	*list = (struct held_list){.count = 0};
}

/* ---- files ---- */

/* The device of memfds, System V shared memory and shared anonymous memory: the kernel's own tmpfs. */
static dev_t held_get_memory_device(void)
{
	static dev_t device;
	_cleanup_close_ int fd = device ? -1 : memfd_create("", MFD_CLOEXEC);
	struct stat status;

	if (fd >= 0 && fstat(fd, &status) == 0)
		device = status.st_dev;
	return device;
}

/* Whether no data can leave the run through the device: null, zero, full, random, urandom; the run's terminals. */
static bool held_device_cannot_leak_data(const struct stat *status)
{
	unsigned number = major(status->st_rdev), minor_number = minor(status->st_rdev);

	if (!S_ISCHR(status->st_mode))
		return false;
	if (number == 1)
		return minor_number == 3 || minor_number == 5 || (minor_number >= 7 && minor_number <= 9);
	return (number == 5 && (minor_number == 0 || minor_number == 2)) || (number >= 136 && number <= 143);
}

/*
 * Returns the entries of after_read that close the file to which the kernel gives the path `text`. A file without a
 * name in the view is closed by all entries with "write", a removed file by the name that it had.
 */
static uint32_t held_find_after_entries_of_path(const struct sandbox *sandbox, char *text, bool removed,
					       char virt[PATH_MAX])
{
	const struct policy *policy = sandbox->policy;
	size_t len = strlen(text);
	int named;

	if (removed && len > strlen(DELETED_FILE_SUFFIX) &&
	    strcmp(text + len - strlen(DELETED_FILE_SUFFIX), DELETED_FILE_SUFFIX) == 0)
		text[len -= strlen(DELETED_FILE_SUFFIX)] = '\0';
	named = view_find_virtual_path(sandbox->view, text, len, virt, PATH_MAX);
	if (named < 0) {
		(void)snprintf(virt, PATH_MAX, "%s", text);
		return policy_get_fired_after_entries(policy) & policy_get_entries_closing_writing(policy);
	}
	return policy_find_entries_that_closed_writing(policy, virt, (size_t)named);
}

/* Index of the first entry in a mask of after entries. */
static unsigned held_get_first_after_entry(uint32_t entries)
{
	return (unsigned)__builtin_ctz(entries);
}

/*
 * Lists a unix socket if descriptors are in flight in its queue, because one of them may be for writing. For a listener
 * the kernel counts the descriptors of connections that were not accepted yet: unix_show_fdinfo().
 */
static int held_list_socket_if_to_remove(const struct sandbox *sandbox, int fd, uint64_t ino, unsigned queued,
					 const struct held_sockets *sockets, struct held_list *list)
{
	uint32_t entries = policy_get_fired_after_entries(sandbox->policy);

	if (sockets && held_is_inet_socket(sockets, ino))
		entries &= policy_get_entries_closing_network(sandbox->policy);
	else if (queued == 0)
		return 0;
	return held_append_item(list,
				(struct held_item){.fd = fd,
						   .loss = AFTER_SOCKET,
						   .after_entry_index = held_get_first_after_entry(entries)},
				NULL);
}

/* Lists a descriptor if a fired entry takes its file or socket away. 0 or -errno. */
static int held_list_fd_if_to_remove(const struct sandbox *sandbox, pid_t tid, int fd,
				     const struct held_sockets *sockets, struct held_list *list)
{
	char path[64], text[PATH_MAX], virt[PATH_MAX];
	struct fdinfo info;
	struct stat status;
	uint32_t closed;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, fd);
	if (fdinfo_read(tid, fd, &info) < 0)
		return -EIO;
	if (info.open_flags & O_PATH)
		return 0;
	if (stat(path, &status) < 0)
		return -errno;
	if (S_ISSOCK(status.st_mode))
		return held_list_socket_if_to_remove(sandbox, fd, status.st_ino, info.queued_fd_count, sockets, list);
	if ((info.open_flags & O_ACCMODE) == O_RDONLY || status.st_dev == held_get_memory_device() ||
	    held_device_cannot_leak_data(&status))
		return 0;
	len = readlink(path, text, sizeof(text) - 1);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	if (text[0] != '/') /* a pipe, an eventfd or the like, which is no file */
		return 0;
	closed = held_find_after_entries_of_path(sandbox, text, status.st_nlink == 0, virt);
	return closed ? held_append_item(list,
					 (struct held_item){.fd = fd,
							 .loss = AFTER_DESCRIPTOR,
							 .after_entry_index = held_get_first_after_entry(closed)},
				      virt)
		      : 0;
}

/* 0 before the deadline, then -ETIME. */
static int held_fail_after_deadline(uint64_t until_ns)
{
	return io_read_clock_ns() < until_ns ? 0 : -ETIME;
}

static int held_list_fds_to_remove(const struct sandbox *sandbox, pid_t tid, const struct held_sockets *sockets,
				   uint64_t until_ns, struct held_list *list)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	char path[48];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", tid);
	dir = opendir(path);
	r = dir ? 0 : -errno;
	while (r == 0 && (entry = io_read_entry(dir, &r))) {
		r = held_fail_after_deadline(until_ns);
		if (r == 0)
			r = held_list_fd_if_to_remove(sandbox, tid, (int)strtol(entry->d_name, NULL, 10), sockets,
						      list);
	}
	return r;
}

/* ---- mappings ---- */

/* A line of /proc/PID/maps or smaps that begins a mapping. */
struct held_mapping {
	uint64_t start, end;
	bool shared, file;
	char *path; /* borrowed */
};

/* State of reading /proc/TID/maps or smaps: the mapping whose lines are read. */
struct held_maps_reader {
	const struct sandbox *sandbox;
	struct held_list *list;
	struct held_mapping mapping;
	/* room for mapping.path; a longer path is truncated, and held_list_mapping_if_to_remove() refuses it then */
	char path[PATH_MAX + sizeof(DELETED_FILE_SUFFIX)];
};

/* Parses a line of /proc/TID/smaps or maps that begins a mapping. False: the line does not begin a mapping. */
static bool held_parse_mapping(char *line, struct held_mapping *ret_mapping)
{
	unsigned dev_major, dev_minor;
	uint64_t ino;
	char rights[5];
	int name = 0;

	*ret_mapping = (struct held_mapping){.start = 0};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %x:%x %" SCNu64 " %n", &ret_mapping->start,
		   &ret_mapping->end, rights, &dev_major, &dev_minor, &ino, &name) != 6)
		return false;
	ret_mapping->shared = rights[3] == 's';
	ret_mapping->file = ino != 0 && makedev(dev_major, dev_minor) != held_get_memory_device();
	ret_mapping->path = line + name;
	return true;
}

/* Lists a mapping if a fired entry takes its file away. 0 or -errno. */
static int held_list_mapping_if_to_remove(const struct sandbox *sandbox, const struct held_mapping *mapping,
					  struct held_list *list)
{
	char text[PATH_MAX], virt[PATH_MAX];
	size_t len = strlen(mapping->path);
	bool removed = len > strlen(DELETED_FILE_SUFFIX) &&
		       strcmp(mapping->path + len - strlen(DELETED_FILE_SUFFIX), DELETED_FILE_SUFFIX) == 0;
	uint32_t closed;

	if (len >= sizeof(text))
		return -ENAMETOOLONG;
	memcpy(text, mapping->path, len + 1);
	closed = removed ? held_find_after_entries_of_path(sandbox, text, true, virt) : 0;
	/* smaps does not tell a removed file "x" from a file called "x (deleted)": both readings of the name count. */
	memcpy(text, mapping->path, len + 1);
	closed |= held_find_after_entries_of_path(sandbox, text, false, virt);
	if (!closed)
		return 0;
	return held_append_item(list,
				(struct held_item){.is_mapping = true,
						.start = mapping->start,
						.len = mapping->end - mapping->start,
						.loss = AFTER_MAPPING,
						.after_entry_index = held_get_first_after_entry(closed)},
			     virt);
}

/*
 * Calls `check` for each line of a file of /proc/TID, until that returns something else than 0, which is returned then;
 * otherwise 0 or -errno.
 */
static int held_call_for_each_proc_line(pid_t tid, const char *name, uint64_t until_ns,
			   int (*check)(struct held_maps_reader *reading, char *line), struct held_maps_reader *reading)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	char path[48];
	size_t size = 0;
	int r = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (r == 0 && (errno = 0, getline(&line, &size, file)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		r = held_fail_after_deadline(until_ns);
		if (r == 0)
			r = check(reading, line);
	}
	return r == 0 ? -errno : r;
}

/* Returns 1 if the line is of a file that is mapped shared. */
static int held_maps_line_is_shared_file(struct held_maps_reader *reading, char *line)
{
	return held_parse_mapping(line, &reading->mapping) && reading->mapping.shared && reading->mapping.file;
}

/* VmFlags has "mw" for a mapping that may be written, or made writable by mprotect(2). */
static int held_list_mapping_of_smaps_line(struct held_maps_reader *reading, char *line)
{
	struct held_mapping next;

	if (held_parse_mapping(line, &next)) {
		reading->mapping = next;
		(void)snprintf(reading->path, sizeof(reading->path), "%s", next.path);
		reading->mapping.path = reading->path;
		return 0;
	}
	if (strncmp(line, "VmFlags:", 8) != 0 || !reading->mapping.shared || !reading->mapping.file ||
	    !strstr(line, " mw"))
		return 0;
	return held_list_mapping_if_to_remove(reading->sandbox, &reading->mapping, reading->list);
}

/*
 * Lists shared mappings of closed files. Most processes have no shared mapping of a file, which spares them smaps,
 * whose reading takes long.
 */
static int held_list_mappings_to_remove(const struct sandbox *sandbox, pid_t tid, uint64_t until_ns,
					struct held_list *list)
{
	struct held_maps_reader reading = {.sandbox = sandbox, .list = list};
	int r = held_call_for_each_proc_line(tid, "maps", until_ns, held_maps_line_is_shared_file, &reading);

	if (r <= 0)
		return r;
	reading.mapping = (struct held_mapping){.start = 0};
	return held_call_for_each_proc_line(tid, "smaps", until_ns, held_list_mapping_of_smaps_line, &reading);
}

int held_list_items_of_thread(const struct sandbox *sandbox, pid_t tid, const struct held_sockets *sockets,
			      uint64_t until_ns, struct held_list *ret_list)
{
	const struct policy *policy = sandbox->policy;
	bool writing = policy_get_fired_after_entries(policy) & policy_get_entries_closing_writing(policy);
	int r = writing ? held_list_mappings_to_remove(sandbox, tid, until_ns, ret_list) : 0;

	return r < 0 ? r : held_list_fds_to_remove(sandbox, tid, sockets, until_ns, ret_list);
}
