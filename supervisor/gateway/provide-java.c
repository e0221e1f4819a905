/* Java ignores the system's certificates, so each Java that may be executed gets a cacerts file. */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/gateway/provide.h"

struct java_search {
	const struct egress_provide *provide;
	struct egress_process *egress; /* gets a file for each store */
	char *bytes;              /* the new truststore, kept by the egress; NULL: not made yet */
	size_t len;
	int error;
};

static int java_make_store(struct java_search *search)
{
	int error = truststore_make_jks(search->provide->root_and_run_certificates_pem, &search->bytes, &search->len);

	return error < 0 ? error : egress_process_keep_text(search->egress, search->bytes);
}

/* As realpath(3), which makes a system call for each name of the path. Owned; NULL: nothing is there. */
static char *java_resolve_path(const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	char link[sizeof("/proc/self/fd/") + 10], real[PATH_MAX];
	ssize_t len;

	if (fd < 0)
		return NULL;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, real, sizeof(real));
	return len > 0 && len < PATH_MAX ? strndup(real, (size_t)len) : realpath(path, NULL);
}

static void java_add_store(struct java_search *search, const char *home, const char *below)
{
	_cleanup_free_ char *real = NULL;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", home, below) < sizeof(path))
		real = java_resolve_path(path);
	for (size_t i = 0; real && i < search->egress->provided_file_count; i++)
		if (strcmp(search->egress->provided_file[i].virt, real) == 0)
			return;
	if (real && !search->bytes && search->error == 0)
		search->error = java_make_store(search);
	if (real && search->error == 0)
		search->error =
			egress_process_add_file_with_kept_text(search->egress, real, search->bytes, search->len);
}

/* Adds the certificate stores of the Java installation to which a path of `java` leads. */
static void java_try_executable(struct java_search *search, const char *java)
{
	static const char bin[] = "/bin/java";
	_cleanup_free_ char *real = java_resolve_path(java);
	size_t len = real ? strlen(real) : 0;

	if (len <= sizeof(bin) - 1 || strcmp(real + len - (sizeof(bin) - 1), bin) != 0 ||
	    !(policy_get_rights(search->provide->policy, real, len) & POLICY_EXEC))
		return;
	real[len - (sizeof(bin) - 1)] = '\0';
	java_add_store(search, real, "lib/security/cacerts");
	java_add_store(search, real, "jre/lib/security/cacerts"); /* up to Java 8 */
}

static void java_search_path(struct java_search *search, const char *path)
{
	char java[PATH_MAX];

	while (*path) {
		size_t len = strcspn(path, ":");

		if ((size_t)snprintf(java, sizeof(java), "%.*s/java", (int)len, path) < sizeof(java))
			java_try_executable(search, java);
		path += len + (path[len] == ':');
	}
}

static void java_search_environment(struct java_search *search)
{
	size_t count;
	const struct policy_env *env = policy_get_env(search->provide->policy, &count);
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

static void java_search_usual_directories(struct java_search *search)
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

int egress_provide_java_stores(const struct egress_provide *provide, struct egress_process *egress)
{
	struct java_search search = {.provide = provide, .egress = egress};

	java_search_usual_directories(&search);
	java_search_environment(&search);
	return search.error;
}
