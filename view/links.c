/* The view's own links: those of the host that lead into a grant, so that other ways of writing it work as well. */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "view/private.h"

#include "base/banned.h"

/* One link of the host on the way, at its canonical name: shown in the view unless a mount shows it already. */
static int add_link(struct view *view, const char *path, const char *target)
{
	const struct node *known = view_node(view, path, strlen(path), view_hash(path, strlen(path)));
	struct place place;
	int r;

	if (known && known->link && strcmp(known->link, target) == 0)
		return 0;
	if (view_covered(view, path)) {
		_cleanup_close_ int fd = -1;

		r = view_locate(view, NULL, "/", path, 0, &place);
		fd = r < 0 ? r : view_open(&place, O_PATH | O_NOFOLLOW, 0);
		if (fd >= 0)
			return 0;
	}
	r = view_show_name(view, path, S_IFLNK, target);
	if (r == 0)
		r = view_add_node(view, path, NULL, target);
	return r == -EEXIST ? 0 : r;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Most rules have their first directories in common. */
static void note_plain(struct view *view, const char *path)
{
	char *copy = strdup(path);

	if (copy && !tsearch(copy, &view->plain, compare))
		free(copy); /* it is asked about again */
}

/* What stands at the canonical path `at`, resolved so far: 1 and its target when it is a link, 0 otherwise. */
static int read_link(struct view *view, const char *at, char target[PATH_MAX])
{
	ssize_t len;

	if (tfind(at, &view->plain, compare))
		return 0;
	len = readlink(at, target, PATH_MAX - 1);
	if (len <= 0) {
		note_plain(view, at);
		return 0;
	}
	target[len] = '\0';
	return 1;
}

/*
 * Follows the path as the host resolves it (realpath(3)), so that each link is met at its canonical name: of /bin/sh those
 * are /bin -> usr/bin and /usr/bin/sh -> dash.
 */
int view_add_links(struct view *view, const char *written)
{
	char at[PATH_MAX] = "/", todo[PATH_MAX * 2], rest[PATH_MAX * 2], target[PATH_MAX];
	unsigned links = 0;

	if ((size_t)snprintf(todo, sizeof(todo), "%s", written) >= PATH_MAX)
		return -ENAMETOOLONG;
	while (todo[strspn(todo, "/")] && links < VIEW_LINKS_MAX) {
		const char *name = todo + strspn(todo, "/");
		size_t name_len = strcspn(name, "/"), parent_len = strlen(at);
		char parent[PATH_MAX];
		bool lexical;
		int r;

		(void)snprintf(rest, sizeof(rest), "%s", name + name_len);
		(void)snprintf(target, sizeof(target), "%.*s", (int)name_len, name);
		memcpy(parent, at, parent_len + 1);
		r = path_join(parent, target, at, sizeof(at), &lexical);
		if (r < 0)
			return r;
		memcpy(todo, rest, strlen(rest) + 1);
		if (!read_link(view, at, target))
			continue;
		links++;
		r = add_link(view, at, target);
		if (r < 0)
			return r;
		at[target[0] == '/' || parent_len == 1 ? 1 : parent_len] = '\0';
		if ((size_t)snprintf(todo, sizeof(todo), "%s%s", target, rest) >= sizeof(todo))
			return -ENAMETOOLONG;
	}
	return 0;
}

int view_add_merged_usr(struct view *view)
{
	static const char *const links[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(links) / sizeof(links[0]); i++) {
		const struct node *known = view_node(view, links[i], strlen(links[i]), view_hash(links[i], strlen(links[i])));
		_cleanup_free_ char *real = NULL;
		char target;

		/* Some rule's way led through it, or it is a directory or nothing. */
		if ((known && known->link) || readlink(links[i], &target, 1) < 0)
			continue;
		real = realpath(links[i], NULL);

		/* Worth a link when something is granted there, or below. */
		if (real && strcmp(real, links[i]) != 0 &&
		    (view_covered(view, real) || faccessat(view->root->fd, real + 1, F_OK, 0) == 0))
			r = view_add_links(view, links[i]);
	}
	return r;
}
