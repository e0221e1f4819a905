#include "cli/inherited.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

int cli_inherited_list(struct cli_inherited *ret_inherited)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	struct cli_inherited inherited = {0};
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = (int)strtol(entry->d_name, NULL, 10); /* "." and "..": 0 */
		int *more;

		if (fd <= 2 || fd == dirfd(dir))
			continue;
		more = reallocarray(inherited.fd, inherited.count + 1, sizeof(*more));
		if (!more) {
			free(inherited.fd);
			return -ENOMEM;
		}
		more[inherited.count++] = fd;
		inherited.fd = more;
	}
	*ret_inherited = inherited;
	return 0;
}

void cli_inherited_close(const struct cli_inherited *inherited, bool (*keep)(const void *ctx, int fd), const void *ctx)
{
	for (size_t i = 0; i < inherited->count; i++)
		if (!keep(ctx, inherited->fd[i]))
			(void)close(inherited->fd[i]);
}

void cli_inherited_done(struct cli_inherited *inherited)
{
	free(inherited->fd);
	*inherited = (struct cli_inherited){0};
}
