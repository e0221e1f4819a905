#include "view/copy/attributes.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/buf.h"
#include "base/cleanup.h"

static int attributes_compare(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool attributes_counts(const char *name)
{
	return strncmp(name, "trusted.", strlen("trusted.")) != 0 && strcmp(name, "security.selinux") != 0;
}

/* Sorts the names that count. Their number. name: room for XATTR_LIST_MAX / 2, as each has a NUL. */
static size_t attributes_sort(const char *names, ssize_t len, const char **name)
{
	size_t count = 0;

	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
		if (attributes_counts(names + at))
			name[count++] = names + at;
	qsort((void *)name, count, sizeof(*name), attributes_compare);
	return count;
}

/* Adds a name and its value. value: room for XATTR_SIZE_MAX. 0 or -errno. */
static int attributes_add(int fd, const char *name, char *value, struct buf *all)
{
	const ssize_t len = fgetxattr(fd, name, value, XATTR_SIZE_MAX);

	if (len < 0)
		return -errno;
	buf_add(all, name, strlen(name) + 1);
	buf_add(all, (const char *)&len, sizeof(len));
	buf_add(all, value, (size_t)len);
	return all->failed ? -ENOMEM : 0;
}

int copy_hash_attributes(int fd, char ret_hex[SHA256_HEX_SIZE])
{
	const ssize_t size = flistxattr(fd, NULL, 0);
	_cleanup_free_ char *names = NULL;
	_cleanup_free_ const char **name = NULL;
	struct buf all = {.data = NULL};
	size_t count;
	ssize_t len;
	int r = 0;

	ret_hex[0] = '\0';
	if (size <= 0)
		return size < 0 && errno != EOPNOTSUPP ? -errno : 0;
	names = malloc(XATTR_LIST_MAX + XATTR_SIZE_MAX);
	name = malloc(XATTR_LIST_MAX / 2 * sizeof(*name));
	if (!names || !name)
		return -ENOMEM;
	len = flistxattr(fd, names, XATTR_LIST_MAX);
	if (len < 0)
		return -errno;
	count = attributes_sort(names, len, name);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = attributes_add(fd, name[i], names + XATTR_LIST_MAX, &all);
	if (r == 0 && count > 0)
		sha256_hash_bytes(all.data, all.len, ret_hex);
	buf_release(&all);
	return r;
}
