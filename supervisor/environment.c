#include "supervisor/environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* Adds a variable, unless the list has it already. False: no memory. */
static bool environment_add_variable(char **envp, size_t *used, const char *name, size_t name_len, const char *value)
{
	for (size_t i = 0; i < *used; i++)
		if (strncmp(envp[i], name, name_len) == 0 && envp[i][name_len] == '=')
			return true;
	envp[*used] = text_format("%.*s=%s", (int)name_len, name, value);
	if (!envp[*used])
		return false;
	++*used;
	return true;
}

/* Adds the variables of callgate's own environment that the policy passes, by name or by pattern ("LC_*"). */
static bool environment_add_passed_variables(const struct policy *policy, char **envp, size_t *used)
{
	for (char **variable = environ; variable && *variable; variable++) {
		const char *equal = strchr(*variable, '=');
		char name[256];
		size_t len = equal ? (size_t)(equal - *variable) : sizeof(name);

		if (len == 0 || len >= sizeof(name))
			continue; /* not a variable, or longer than any name in a policy can be */
		memcpy(name, *variable, len);
		name[len] = '\0';
		if (policy_env_passes_variable(policy, name) &&
		    !environment_add_variable(envp, used, name, len, equal + 1))
			return false;
	}
	return true;
}

/* Adds egress' variables that take precedence over the policy's, or those that do not. */
static bool environment_add_network_variables(const struct egress_process *egress, bool overrides_policy, char **envp,
					      size_t *used)
{
	for (size_t i = 0; i < egress->env_variable_count; i++) {
		const struct egress_variable *variable = &egress->env_variable[i];

		if (variable->overrides_policy == overrides_policy &&
		    !environment_add_variable(envp, used, variable->name, strlen(variable->name), variable->value))
			return false;
	}
	return true;
}

char **environment_build(const struct policy *policy, const struct egress_process *egress)
{
	const struct policy_env *env;
	size_t count, used = 0, room = 1;
	bool good;
	char **envp;

	env = policy_get_env(policy, &count);
	for (char **variable = environ; variable && *variable; variable++)
		room++;
	envp = calloc(room + count + egress->env_variable_count, sizeof(*envp));
	good = envp && environment_add_network_variables(egress, true, envp, &used);
	for (size_t i = 0; good && i < count; i++)
		if (env[i].value)
			good = environment_add_variable(envp, &used, env[i].name, strlen(env[i].name), env[i].value);
	if (good && environment_add_passed_variables(policy, envp, &used) &&
	    environment_add_network_variables(egress, false, envp, &used))
		return envp;
	environment_free(envp);
	return NULL;
}

void environment_free(char **envp)
{
	for (size_t i = 0; envp && envp[i]; i++)
		free(envp[i]);
	free(envp);
}

const char *environment_get_value(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

void environment_wipe_own(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		explicit_bzero(*variable, strlen(*variable));
	(void)clearenv();
}
