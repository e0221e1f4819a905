#include "base/beside.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

static bool is_trusted(const char *path)
{
	struct stat program, other;

	return stat("/proc/self/exe", &program) == 0 && lstat(path, &other) == 0 && S_ISREG(other.st_mode) &&
	       !(other.st_mode & S_IWOTH) && (other.st_uid == 0 || other.st_uid == program.st_uid);
}

bool beside_path(const char *name, char ret_path[PATH_MAX])
{
	size_t size = strlen(name) + 1;
	ssize_t len = readlink("/proc/self/exe", ret_path, PATH_MAX - size);
	char *slash;

	if (len <= 0)
		return false;
	ret_path[len] = '\0';
	slash = strrchr(ret_path, '/');
	if (slash)
		memcpy(slash + 1, name, size);
	return slash != NULL;
}

void beside_find(const char *name, char ret_path[PATH_MAX])
{
	if (!beside_path(name, ret_path) || !is_trusted(ret_path))
		(void)snprintf(ret_path, PATH_MAX, "%s/%s", PKGLIBDIR, name);
}
