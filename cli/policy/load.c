#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/policy/verbs.h"

#define NEW_POLICY_FILE_MODE 0644

int policy_replace_file(const char *path, const char *text)
{
	_cleanup_free_ char *found = realpath(path, NULL); /* a symbolic link stays: its target is replaced */
	const char *real = found ? found : path;
	_cleanup_free_ char *name = text_format("%s.XXXXXX", real);
	_cleanup_close_ int fd = name ? mkostemp(name, O_CLOEXEC) : -1;
	struct stat status = {.st_mode = NEW_POLICY_FILE_MODE};
	int ret;

	if (fd < 0)
		return name ? -errno : -ENOMEM;
	ret = (found && stat(real, &status) < 0) || fchmod(fd, status.st_mode & 07777) < 0 ? -errno : 0;
	if (ret == 0)
		ret = io_write_all(fd, text, strlen(text));
	if (ret == 0 && (fsync(fd) < 0 || rename(name, real) < 0))
		ret = -errno;
	if (ret < 0)
		(void)unlink(name); /* a failure changes nothing: an error is returned already */
	return ret;
}

int policy_load_argument(const char *verb, const struct cli_policy_options *options, const char *name,
			 const char *program, enum policy_phase phase, struct cli_host *host,
			 struct policy **ret_policy)
{
	struct cli_policy_options whole = *options; /* a copy that borrows all lists except `names` */
	_cleanup_list_ struct cli_list names = {0};
	int ret = 0;

	for (size_t i = 0; i < options->policy_names.count && ret == 0; i++)
		ret = cli_list_add_owned(&names, strdup(options->policy_names.item[i]));
	if (ret == 0)
		ret = cli_list_add_owned(&names, strdup(name));
	if (ret < 0)
		return cli_fail_no_memory(verb);
	whole.policy_names = names;
	whole.cli.phase = phase;
	return cli_load_policy_without_run(&whole, verb, program, host, ret_policy);
}
