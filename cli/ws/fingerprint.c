#include "cli/ws/fingerprint.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/result/changes.h"

/* Hashes an open file of this size. "": it is too large, cannot be read, or has another size. */
static void fingerprint_file(int fd, uint64_t size, uint64_t *bytes_left, char ret_hex[SHA256_HEX_SIZE])
{
	uint64_t bytes;

	ret_hex[0] = '\0';
	if (fd < 0 || size > CHANGES_HASHED_FILE_BYTES_MAX || size > *bytes_left)
		return;
	*bytes_left -= size;
	if (sha256_hash_fd(fd, ret_hex, &bytes) < 0 || bytes != size) /* something changes it just now */
		ret_hex[0] = '\0';
}

/* Hashes what an entry was found to be. "": it is no regular file any more, or as above. */
static void fingerprint_entry(int root_fd, const char *path, const struct workspace_entry *entry, uint64_t *bytes_left,
			      char ret_hex[SHA256_HEX_SIZE])
{
	_cleanup_close_ int place = -1, fd = -1;

	ret_hex[0] = '\0';
	if (!entry->exists || !S_ISREG(entry->mode))
		return;
	place = workspace_open_entry(root_fd, path);
	fd = place < 0 ? place : workspace_open_content(place);
	fingerprint_file(fd, entry->size, bytes_left, ret_hex);
}

void ws_fingerprints_make(const struct workspace_layer *layer, const struct workspace_change *change,
			  uint64_t *bytes_left, struct ws_fingerprints *ret)
{
	const bool is_same = change->kind == WORKSPACE_RENAMED ||
			     (change->kind == WORKSPACE_MODIFIED && !(change->differences & WORKSPACE_CONTENT_DIFFERS));

	fingerprint_entry(layer->upper_fd, change->path, &change->upper, bytes_left, ret->new);
	if (is_same)
		memcpy(ret->old, ret->new, sizeof(ret->old));
	else
		fingerprint_entry(layer->base_fd, change->path, &change->base, bytes_left, ret->old);
}

void ws_fingerprint_base(const struct workspace_layer *layer, const char *path, uint64_t *bytes_left,
			 char ret_hex[SHA256_HEX_SIZE])
{
	_cleanup_close_ int fd = openat2_retry(layer->dir_fd, path, O_RDONLY | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);
	struct stat st;

	ret_hex[0] = '\0';
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		fingerprint_file(fd, (uint64_t)st.st_size, bytes_left, ret_hex);
}
