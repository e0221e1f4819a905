#include "base/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/beside.h"
#include "config.h"

#include "base/banned.h"

#define FILE_NAME "callgate-net.so"

static char trouble[PATH_MAX + 256];

static const struct module *load(void)
{
	char path[PATH_MAX];
	const struct module *module;
	void *handle;

	if (beside_find(FILE_NAME, path) < 0) {
		(void)snprintf(trouble, sizeof(trouble), "cannot be used: " BESIDE_WRITABLE, path);
		return NULL;
	}
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
