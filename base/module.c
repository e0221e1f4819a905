#include "base/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"

#include "base/banned.h"

#define FILE_NAME "callgate-net.so"

static char trouble[PATH_MAX + 256];

/*
 * In a directory for everybody (/tmp) others can put a file beside the program, which they cannot replace: the module has to
 * be as much the program's owner's, or root's.
 */
static bool is_trusted(const char *path)
{
	struct stat program, module;

	return stat("/proc/self/exe", &program) == 0 && lstat(path, &module) == 0 && S_ISREG(module.st_mode) &&
	       !(module.st_mode & S_IWOTH) && (module.st_uid == 0 || module.st_uid == program.st_uid);
}

static bool find_beside(char path[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - sizeof(FILE_NAME));
	char *slash;

	if (len <= 0)
		return false;
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	memcpy(slash + 1, FILE_NAME, sizeof(FILE_NAME));
	return is_trusted(path);
}

static const struct module *load(void)
{
	char path[PATH_MAX];
	const struct module *module;
	void *handle;

	if (!find_beside(path))
		(void)snprintf(path, sizeof(path), "%s/%s", PKGLIBDIR, FILE_NAME);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	module = handle ? dlsym(handle, MODULE_SYMBOL) : NULL;
	if (!module)
		(void)snprintf(trouble, sizeof(trouble), "cannot be used: %s", dlerror()); /* names the file */
	else if (strcmp(module->version, PACKAGE_VERSION) != 0)
		(void)snprintf(trouble, sizeof(trouble), "cannot be used: %s is of callgate %s, not " PACKAGE_VERSION, path,
			       module->version);
	else
		return module;
	return NULL;
}

const void *module_part(enum module_part part, const char **ret_why)
{
	static const struct module *module;

	if (!module)
		module = load();
	*ret_why = trouble;
	return module ? module->part[part] : NULL;
}
