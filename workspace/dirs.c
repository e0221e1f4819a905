#include "workspace/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "workspace/layer.h"

int dir_list_add(struct dir_list *list, const char *path, bool shows_base_now, bool shows_base_then)
{
	char *copy = array_reserve(&list->item, list->count, &list->room) ? strdup(path) : NULL;

	if (!copy)
		return -ENOMEM;
	list->item[list->count++] = (struct dir_item){copy, shows_base_now, shows_base_then};
	return 0;
}

void dir_list_release(struct dir_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->item[i].path);
	free(list->item);
	*list = (struct dir_list){0};
}

int name_list_add(struct name_list *list, const char *name)
{
	if (!array_reserve(&list->name, list->count, &list->room))
		return -ENOMEM;
	list->name[list->count] = strdup(name);
	return list->name[list->count++] ? 0 : -ENOMEM;
}

int name_list_read(struct name_list *list, int dir_fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(dir_fd, "."));
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (r == 0 && (entry = io_read_entry(dir, &r)))
		r = name_list_add(list, entry->d_name);
	return r;
}

void name_list_release(struct name_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->name[i]);
	free(list->name);
	*list = (struct name_list){0};
}

int dirs_open(int root_fd, const char *path)
{
	_cleanup_close_ int entry = workspace_open_entry(root_fd, path);
	struct stat st;

	if (entry < 0)
		return entry;
	if (fstat(entry, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? workspace_open_content(entry) : -ENOTDIR;
}
