#include "workspace/executed/dirs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "workspace/executed/git-paths.h"
#include "workspace/executed/marks.h"

/* Of an absolute path: that of the workspace, and one below, each with a slash behind it. */
#define EXECUTED_PATH_SIZE (2 * (size_t)PATH_MAX + 2)

/* What is known of a directory. */
struct executed_dir {
	const char *reason; /* why all of it runs later (static); NULL: not all does */
	size_t whole_len;   /* with a reason: of the absolute path of the topmost directory that it is of */
	unsigned marks;     /* marks.h */
};

struct executed_dirs {
	const struct executed_names *names;
	struct git_paths git;
	char root[PATH_MAX]; /* path of the workspace's directory; "": not read yet, or it has none */
	size_t root_len;
	bool is_ready;
	char path[EXECUTED_PATH_SIZE];              /* the latest one, absolute */
	struct executed_dir at[EXECUTED_PATH_SIZE]; /* of the directories above it: [length of the directory's path] */
};

struct executed_dirs *executed_dirs_create(struct arena *arena, const struct executed_names *names)
{
	struct executed_dirs *dirs = arena_alloc(arena, sizeof(*dirs));

	if (!dirs)
		return NULL;
	dirs->names = names;
	dirs->git.arena = arena;
	return dirs;
}

/* Reads the path of the workspace's directory. Without one, what is above it stays unknown. */
static void executed_dirs_begin(struct executed_dirs *dirs, const struct workspace_layer *layer)
{
	if (dirs->is_ready)
		return;
	dirs->is_ready = true;
	if (io_read_fd_name(layer->base_fd, dirs->root) < 0 || dirs->root[1] == '\0')
		dirs->root[0] = '\0';
	dirs->root_len = strlen(dirs->root);
	dirs->git.root = dirs->root;
}

/*
 * Why the first `len` bytes of the latest path name something that is a part of a marked directory, judged as if that
 * had its usual name. *ret_whole_len: of the marked directory, if it is below the workspace's.
 */
static const char *executed_dirs_find_marked(const struct executed_dirs *dirs, size_t len, enum executed_match match,
					     size_t *ret_whole_len)
{
	char text[EXECUTED_PATH_SIZE + 32];

	for (size_t dir_len = 1; dir_len + 1 < len; dir_len++) {
		const char *rest = dirs->path + dir_len + 1;

		if (dirs->path[dir_len] != '/' || !dirs->at[dir_len].marks)
			continue;
		for (unsigned mark = 0; mark < EXECUTED_MARKS_MAX; mark++) {
			const char *name =
				dirs->at[dir_len].marks & (1u << mark) ? executed_marks_get_name(mark, rest) : NULL;
			const char *reason;

			if (!name)
				continue;
			(void)snprintf(text, sizeof(text), "%s/%.*s", name, (int)(len - dir_len - 1), rest);
			reason = executed_names_find(dirs->names, text, match);
			if (reason) {
				*ret_whole_len = dir_len > dirs->root_len ? dir_len : len;
				return reason;
			}
		}
	}
	return NULL;
}

/* Finds out what a directory is, whose path is the first `len` bytes of the latest one. above: the one it is in. */
static void executed_dirs_look(struct executed_dirs *dirs, const struct workspace_layer *layer, size_t len,
			       const struct executed_dir *above)
{
	struct executed_dir *dir = &dirs->at[len];
	const char *below = len > dirs->root_len ? dirs->path + dirs->root_len + 1 : "", *name;

	*dir = (struct executed_dir){.reason = above ? above->reason : NULL, .whole_len = above ? above->whole_len : 0};
	dirs->path[len] = '\0';
	dir->marks = len < dirs->root_len ? executed_marks_find_on_host(dirs->path) : executed_marks_find(layer, below);
	git_paths_read_repository(&dirs->git, dirs->path, dir->marks & EXECUTED_MARK_GIT);
	if (!dir->reason && *below) {
		dir->reason = executed_names_find(dirs->names, below, EXECUTED_MATCH_DIR);
		dir->whole_len = len;
	}
	for (unsigned mark = 0; !dir->reason && mark < EXECUTED_MARKS_MAX; mark++)
		if ((dir->marks & (1u << mark)) && (name = executed_marks_get_name(mark, ""))) {
			dir->reason = executed_names_find(dirs->names, name, EXECUTED_MATCH_DIR);
			dir->whole_len = len;
		}
	if (!dir->reason)
		dir->reason = executed_dirs_find_marked(dirs, len, EXECUTED_MATCH_DIR, &dir->whole_len);
	if (!dir->reason && git_paths_has(&dirs->git, dirs->path, GIT_PATHS_DIR)) {
		dir->reason = EXECUTED_GIT_REASON;
		dir->whole_len = len;
	}
	dirs->path[len] = '/';
}

/*
 * Makes a path below the workspace's directory the latest one. as_dir: it is one itself. Returns what is known of the
 * lowest directory; NULL: it is in none, as the workspace has no path.
 */
static const struct executed_dir *executed_dirs_go(struct executed_dirs *dirs, const struct workspace_layer *layer,
						   const char *path, bool as_dir)
{
	char full[EXECUTED_PATH_SIZE];
	const struct executed_dir *above = NULL;
	size_t same = 0, len;

	executed_dirs_begin(dirs, layer);
	len = (size_t)snprintf(full, sizeof(full), "%s/%s%s", dirs->root, path, as_dir ? "/" : "");
	while (same < len && full[same] == dirs->path[same])
		same++;
	memcpy(dirs->path + same, full + same, len + 1 - same);
	for (size_t i = 1; i < len; i++)
		if (full[i] == '/') {
			if (i >= same)
				executed_dirs_look(dirs, layer, i, above);
			above = &dirs->at[i];
		}
	return above;
}

const char *executed_dirs_find(struct executed_dirs *dirs, const struct workspace_layer *layer, const char *path,
			       bool is_link)
{
	const struct executed_dir *dir = executed_dirs_go(dirs, layer, path, false);
	const char *reason = dir ? dir->reason : NULL;
	size_t whole_len;

	if (!reason)
		reason = executed_names_find(dirs->names, path, EXECUTED_MATCH_ENTRY);
	if (!reason)
		reason = executed_dirs_find_marked(dirs, strlen(dirs->path), EXECUTED_MATCH_ENTRY, &whole_len);
	if (!reason && git_paths_has(&dirs->git, dirs->path, is_link ? GIT_PATHS_LINK : GIT_PATHS_FILE))
		reason = EXECUTED_GIT_REASON;
	return reason;
}

const char *executed_dirs_find_dir(struct executed_dirs *dirs, const struct workspace_layer *layer, const char *path,
				   size_t *ret_len)
{
	const struct executed_dir *dir = executed_dirs_go(dirs, layer, path, true);

	if (!dir || !dir->reason)
		return NULL;
	if (ret_len)
		*ret_len = dir->whole_len > dirs->root_len ? dir->whole_len - dirs->root_len - 1 : 0;
	return dir->reason;
}

void executed_dirs_read_repositories(struct executed_dirs *dirs, const struct workspace_layer *layer, const char *path)
{
	(void)executed_dirs_go(dirs, layer, path, false);
}

void executed_dirs_forget(struct executed_dirs *dirs)
{
	dirs->path[0] = '\0';
}
