/* Java ignores the system's certificates: each Java that may be executed gets a cacerts file in its place. */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/gateway/provide.h"

#include "base/banned.h"

#define HOMES_MAX 64

struct search {
	const struct policy *policy;
	char *store[HOMES_MAX]; /* owned, canonical */
	size_t stores;
};

static void java_add_store(struct search *search, const char *home, const char *below)
{
	char path[PATH_MAX];
	char *real;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", home, below) >= sizeof(path) || search->stores == HOMES_MAX)
		return;
	real = realpath(path, NULL);
	for (size_t i = 0; real && i < search->stores; i++)
		if (strcmp(search->store[i], real) == 0) {
			free(real);
			return;
		}
	if (real)
		search->store[search->stores++] = real;
}

/* The installation that a path of java leads to. */
static void java_try_executable(struct search *search, const char *java)
{
	static const char bin[] = "/bin/java";
	_cleanup_free_ char *real = realpath(java, NULL);
	size_t len = real ? strlen(real) : 0;

	if (len <= sizeof(bin) - 1 || strcmp(real + len - (sizeof(bin) - 1), bin) != 0 ||
	    !(policy_rights(search->policy, real, len) & POLICY_EXEC))
		return;
	real[len - (sizeof(bin) - 1)] = '\0';
	java_add_store(search, real, "lib/security/cacerts");
	java_add_store(search, real, "jre/lib/security/cacerts"); /* up to Java 8 */
}

static void java_search_path(struct search *search, const char *path)
{
	char java[PATH_MAX];

	while (*path) {
		size_t len = strcspn(path, ":");

		if ((size_t)snprintf(java, sizeof(java), "%.*s/java", (int)len, path) < sizeof(java))
			java_try_executable(search, java);
		path += len + (path[len] == ':');
	}
}

static void java_search_environment(struct search *search)
{
	size_t count;
	const struct policy_env *env = policy_env(search->policy, &count);
	char java[PATH_MAX];

	for (size_t i = 0; i < count; i++) {
		const char *value = env[i].value ? env[i].value : getenv(env[i].name);

		if (value && strcmp(env[i].name, "PATH") == 0)
			java_search_path(search, value);
		if (value && strcmp(env[i].name, "JAVA_HOME") == 0 &&
		    (size_t)snprintf(java, sizeof(java), "%s/bin/java", value) < sizeof(java))
			java_try_executable(search, java);
	}
}

static void java_search_usual_places(struct search *search)
{
	static const char *const patterns[] = {"/usr/lib/jvm/*/bin/java", "/usr/java/*/bin/java", "/opt/*/bin/java",
					       "/usr/bin/java"};
	glob_t found;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++)
			java_try_executable(search, found.gl_pathv[j]);
		globfree(&found);
	}
}

int egress_provide_java_stores(const struct egress_provide *provide, struct egress_side *side)
{
	struct search search = {.policy = provide->policy};
	_cleanup_free_ char *bytes = NULL;
	size_t len = 0;
	int error = 0;

	java_search_usual_places(&search);
	java_search_environment(&search);
	if (search.stores > 0)
		error = truststore_make_jks(provide->trusted, &bytes, &len);
	for (size_t i = 0; i < search.stores; i++) {
		if (error == 0)
			error = egress_side_add_file(side, search.store[i], bytes, len);
		free(search.store[i]);
	}
	return error;
}
