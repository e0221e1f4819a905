/* Puts the inputs of a run with --cow into the layer of its directory, before the program starts. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "view/create/build.h"
#include "view/create/measure.h"

/* The directories of one move. */
struct inputs {
	int workspace_fd, inputs_fd, layer_fd;
};
#define INPUTS_NONE                                                 \
	(struct inputs)                                             \
	{                                                           \
		.workspace_fd = -1, .inputs_fd = -1, .layer_fd = -1 \
	}

static void inputs_release(struct inputs *inputs)
{
	cleanup_close(&inputs->workspace_fd);
	cleanup_close(&inputs->inputs_fd);
	cleanup_close(&inputs->layer_fd);
}
#define _cleanup_inputs_ __attribute__((cleanup(inputs_release)))

/* Makes a directory if it is missing, and opens it. A descriptor or -errno. */
static int inputs_open_dir(int dir_fd, const char *name)
{
	return mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST ? -errno : io_open_dir(dir_fd, name);
}

/* Opens the directories. 0 or -errno; -ENOENT: there are no inputs. */
static int inputs_open(const struct build_state *build, const char *name, struct inputs *inputs)
{
	_cleanup_close_ int layer = -1;

	inputs->workspace_fd = io_open_without_links(build->options->workspace_host, O_RDONLY | O_DIRECTORY);
	if (inputs->workspace_fd < 0)
		return inputs->workspace_fd;
	inputs->inputs_fd = io_open_dir(inputs->workspace_fd, VIEW_INPUTS_DIR_NAME);
	if (inputs->inputs_fd < 0)
		return inputs->inputs_fd;
	layer = inputs_open_dir(inputs->workspace_fd, "0"); /* that of the directory of -w, which is the first */
	inputs->layer_fd = layer < 0 ? layer : inputs_open_dir(layer, name);
	return inputs->layer_fd < 0 ? inputs->layer_fd : 0;
}

/* Moves all entries of a directory into another one. 0 or -errno; -EEXIST: it has one of that name. */
static int inputs_move(int from_fd, int to_fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(from_fd, "."));
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (r == 0 && (entry = io_read_entry(dir, &r)))
		r = io_rename_new(from_fd, entry->d_name, to_fd, entry->d_name);
	return r;
}

int build_put_inputs(const struct build_state *build, int at, const char *name, struct copy_size *size)
{
	_cleanup_inputs_ struct inputs inputs = INPUTS_NONE;
	int r = at == 0 ? inputs_open(build, name, &inputs) : -ENOENT;

	if (r == 0 && size)
		r = measure_tree(inputs.inputs_fd, size);
	if (r == 0)
		r = inputs_move(inputs.inputs_fd, inputs.layer_fd);
	return r == -ENOENT ? 0 : r;
}

int build_take_inputs_back(const struct build_state *build, int at, const char *name)
{
	_cleanup_inputs_ struct inputs inputs = INPUTS_NONE;
	int r = at == 0 ? inputs_open(build, name, &inputs) : -ENOENT;

	if (r == 0)
		r = inputs_move(inputs.layer_fd, inputs.inputs_fd);
	return r == -ENOENT ? 0 : r;
}

void build_end_inputs(const struct build_state *build)
{
	_cleanup_close_ int workspace = io_open_without_links(build->options->workspace_host, O_RDONLY | O_DIRECTORY);

	if (workspace >= 0) /* it is empty, or was never made */
		(void)unlinkat(workspace, VIEW_INPUTS_DIR_NAME, AT_REMOVEDIR);
}
