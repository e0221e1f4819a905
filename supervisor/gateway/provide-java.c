/* Java ignores the system's certificates, so each Java that may be executed gets a cacerts file. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/gateway/provide.h"

#define JAVA_TRUSTSTORES_MAX 64u /* truststores of the host that are replaced */

/* The host's Java truststores, and the one that the program sees in place of each. */
struct java_truststores {
	const struct policy *policy;
	char *path[JAVA_TRUSTSTORES_MAX]; /* where the host has a store; owned */
	size_t path_count;                /* entries of path[] */
	struct truststore store; /* with the certificate of the run's authority */
};

/* As realpath(3), which makes a system call for each name of the path. Owned; NULL: nothing is there. */
static char *java_resolve_path(const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	char real[PATH_MAX];

	if (fd < 0)
		return NULL;
	return io_read_fd_name(fd, real) > 0 ? strdup(real) : realpath(path, NULL);
}

/* Adds a truststore of a JAVA_HOME, if the host has it. below: its path there. */
static void java_add_truststore_of_home(struct java_truststores *stores, const char *home, const char *below)
{
	_cleanup_free_ char *real = NULL;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", home, below) < sizeof(path))
		real = java_resolve_path(path);
	for (size_t i = 0; real && i < stores->path_count; i++)
		if (strcmp(stores->path[i], real) == 0)
			return;
	if (real && stores->path_count < JAVA_TRUSTSTORES_MAX)
		stores->path[stores->path_count++] = steal_pointer(&real);
}

/* Notes the certificate stores of the Java installation to which a path of `java` leads. */
static void java_add_stores_of_executable(struct java_truststores *stores, const char *java)
{
	static const char bin[] = "/bin/java";
	_cleanup_free_ char *real = java_resolve_path(java);
	size_t len = real ? strlen(real) : 0;

	if (len <= sizeof(bin) - 1 || strcmp(real + len - (sizeof(bin) - 1), bin) != 0 ||
	    !(policy_get_rights(stores->policy, real, len) & POLICY_EXEC))
		return;
	real[len - (sizeof(bin) - 1)] = '\0';
	java_add_truststore_of_home(stores, real, "lib/security/cacerts");
	java_add_truststore_of_home(stores, real, "jre/lib/security/cacerts"); /* up to Java 8 */
}

/* Adds the truststores of each java in a PATH. */
static void java_search_path_variable(struct java_truststores *stores, const char *path)
{
	char java[PATH_MAX];

	while (*path) {
		size_t len = strcspn(path, ":");

		if ((size_t)snprintf(java, sizeof(java), "%.*s/java", (int)len, path) < sizeof(java))
			java_add_stores_of_executable(stores, java);
		path += len + (path[len] == ':');
	}
}

/* Adds the truststores that JAVA_HOME and PATH of the program lead to. */
static void java_search_program_environment(struct java_truststores *stores)
{
	size_t count;
	const struct policy_env *env = policy_get_env(stores->policy, &count);
	char java[PATH_MAX];

	for (size_t i = 0; i < count; i++) {
		const char *value = env[i].value ? env[i].value : getenv(env[i].name);

		if (value && strcmp(env[i].name, "PATH") == 0)
			java_search_path_variable(stores, value);
		if (value && strcmp(env[i].name, "JAVA_HOME") == 0 &&
		    (size_t)snprintf(java, sizeof(java), "%s/bin/java", value) < sizeof(java))
			java_add_stores_of_executable(stores, java);
	}
}

/* Adds the truststores of Java installations in /usr/lib/jvm and the like. */
static void java_search_usual_directories(struct java_truststores *stores)
{
	static const char *const patterns[] = {"/usr/lib/jvm/*/bin/java", "/usr/java/*/bin/java", "/opt/*/bin/java",
					       "/usr/bin/java"};
	glob_t found;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++)
			java_add_stores_of_executable(stores, found.gl_pathv[j]);
		globfree(&found);
	}
}

int egress_begin_java_truststores(const struct policy *policy, const char *roots, struct java_truststores **ret_stores)
{
	struct java_truststores *stores = calloc(1, sizeof(*stores));
	int error;

	*ret_stores = NULL;
	if (!stores)
		return -ENOMEM;
	stores->policy = policy;
	java_search_usual_directories(stores);
	java_search_program_environment(stores);
	if (stores->path_count == 0) {
		free(stores);
		return 0;
	}
	/* About what is needed: base64 is longer than what it stands for. */
	truststore_begin(&stores->store, roots ? strlen(roots) : 0);
	error = truststore_add(&stores->store, roots);
	if (error < 0)
		egress_free_java_truststores(stores);
	else
		*ret_stores = stores;
	return error;
}

static bool java_truststore_is_provided(const struct egress_process *egress, const char *path)
{
	for (size_t i = 0; i < egress->provided_file_count; i++)
		if (strcmp(egress->provided_file[i].virt, path) == 0)
			return true;
	return false;
}

int egress_finish_java_truststores(struct java_truststores *stores, const char *ca, struct egress_process *egress)
{
	char *bytes = NULL;
	size_t len = 0;
	int error = truststore_add(&stores->store, ca);

	if (error == 0)
		error = truststore_finish(&stores->store, &bytes, &len);
	if (error == 0)
		error = egress_process_keep_text(egress, bytes);
	for (size_t i = 0; error == 0 && i < stores->path_count; i++)
		if (!java_truststore_is_provided(egress, stores->path[i]))
			error = egress_process_add_file_with_kept_text(egress, stores->path[i], bytes, len);
	return error;
}

void egress_free_java_truststores(struct java_truststores *stores)
{
	if (!stores)
		return;
	for (size_t i = 0; i < stores->path_count; i++)
		free(stores->path[i]);
	truststore_release(&stores->store);
	free(stores);
}
