/* The output of an export: a file that gets its name when it is complete, or a stream. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/export/export.h"

int export_flush_line(struct export_state *export)
{
	if (export->line_buffer.failed)
		return -ENOMEM;
	if (export->line_buffer.len > 0)
		(void)fwrite(export->line_buffer.data, 1, export->line_buffer.len, export->out);
	export->line_buffer.len = 0;
	return 0;
}

static int output_open_stream(struct export_output *output, int fd)
{
	output->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!output->file) {
		cleanup_close(&fd);
		return -errno;
	}
	return 0;
}

int output_open(struct export_output *output, const char *path, bool needs_file)
{
	struct stat status;
	bool exists = path && stat(path, &status) == 0;

	output->shown_path = path ? path : "standard output";
	if (!path) {
		output->file = stdout;
		return 0;
	}
	if (exists && S_ISDIR(status.st_mode))
		return -EISDIR;
	if (exists && !S_ISREG(status.st_mode))
		return needs_file ? -ESPIPE
					  : output_open_stream(output, open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
	output->path = exists ? realpath(path, NULL) : strdup(path); /* a symbolic link stays: its target is replaced */
	output->temporary_path = output->path ? text_format("%s.XXXXXX", output->path) : NULL;
	if (!output->temporary_path)
		return -errno;
	return output_open_stream(output, mkostemp(output->temporary_path, O_CLOEXEC));
}

int output_close(struct export_output *output, bool keep)
{
	int r = 0;

	if (output->file) {
		if (ferror(output->file) || fflush(output->file) != 0)
			r = errno ? -errno : -EIO;
		if (r == 0 && output->path && keep && fsync(fileno(output->file)) < 0 && errno != EINVAL)
			r = -errno;
		if (output->file != stdout && fclose(output->file) != 0 && r == 0)
			r = -errno;
	}
	if (output->temporary_path && output->file) {
		if (r == 0 && keep && rename(output->temporary_path, output->path) < 0)
			r = -errno;
		if (r < 0 || !keep)
			(void)unlink(output->temporary_path); /* on failure the incomplete file does no harm */
	}
	free(output->path);
	free(output->temporary_path);
	return r;
}
