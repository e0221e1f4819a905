#include "supervisor/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

char **environment_build(const struct policy *policy)
{
	const struct policy_env *env;
	size_t count, used = 0;
	const char *value;
	char **envp;

	env = policy_env(policy, &count);
	envp = calloc(count + 1, sizeof(*envp));
	for (size_t i = 0; envp && i < count; i++) {
		value = env[i].value ? env[i].value : getenv(env[i].name);
		if (!value)
			continue;
		if (asprintf(&envp[used], "%s=%s", env[i].name, value) < 0) {
			envp[used] = NULL;
			environment_free(envp);
			return NULL;
		}
		used++;
	}
	return envp;
}

void environment_free(char **envp)
{
	for (size_t i = 0; envp && envp[i]; i++)
		free(envp[i]);
	free(envp);
}

const char *environment_get(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

void environment_scrub(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		explicit_bzero(*variable, strlen(*variable));
	(void)clearenv(); /* only forgets the list, which the loop has emptied */
}
