/*
 * The names that the skeleton was made of. It never changes once the program runs, so what is not among them is not
 * there, and no call has to find that out; and a call about what the host has in its place begins where the skeleton ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "view/private.h"

#include "base/banned.h"

#define BUCKETS 256u
#define HOST_FDS_MAX 16u
#define ANSWERS 64u
#define ANSWER_MAX 232u     /* longer names are asked for each time */
#define ANSWER_NS 10000000u /* so long the host is not asked again */

struct shown_name {
	struct shown_name *next;
	bool directory;
	int host_fd; /* the host's directory of this name, O_PATH; -1: not asked for yet */
	size_t len;
	char virt[];
};

/* What the host said of a name a short while ago. */
struct answer {
	uint64_t until_ns;
	bool lacks;
	size_t len;
	char virt[ANSWER_MAX];
};

struct shown {
	struct shown_name *bucket[BUCKETS];
	struct answer *answer[ANSWERS]; /* each made when it is first wanted: most runs want few */
	unsigned host_fds;
	bool lost; /* memory ran out: nobody knows what is not there */
};

static struct shown_name *find(const struct shown *shown, const char *virt, size_t len, uint32_t hash)
{
	for (struct shown_name *name = shown->bucket[hash % BUCKETS]; name; name = name->next)
		if (name->len == len && memcmp(name->virt, virt, len) == 0)
			return name;
	return NULL;
}

static void add(struct shown *shown, const char *virt, size_t len, uint32_t hash, bool directory)
{
	struct shown_name *name = find(shown, virt, len, hash);

	if (!name) {
		name = calloc(1, sizeof(*name) + len + 1);
		if (!name) {
			shown->lost = true;
			return;
		}
		name->host_fd = -1;
		name->len = len;
		memcpy(name->virt, virt, len);
		name->next = shown->bucket[hash % BUCKETS];
		shown->bucket[hash % BUCKETS] = name;
	}
	name->directory |= directory;
}

struct shown *view_shown_create(void)
{
	return calloc(1, sizeof(struct shown));
}

void view_shown_free(struct shown *shown)
{
	for (unsigned i = 0; shown && i < BUCKETS; i++) {
		while (shown->bucket[i]) {
			struct shown_name *name = shown->bucket[i];

			shown->bucket[i] = name->next;
			if (name->host_fd >= 0)
				(void)close(name->host_fd);
			free(name);
		}
	}
	for (unsigned i = 0; shown && i < ANSWERS; i++)
		free(shown->answer[i]);
	free(shown);
}

void view_note_shown(const struct view *view, const char *virt, bool directory)
{
	size_t len = strlen(virt);
	struct view_prefix prefix = view_prefixes(virt, len);

	/* What is made while the program runs are stand-ins of directories that the host shows, not the skeleton. */
	if (view->tree)
		return;
	while (view_longer(&prefix))
		add(view->shown, virt, prefix.len, view_prefix_hash(&prefix), prefix.len < len || directory);
}

bool view_shows(const struct view *view, const char *virt, size_t len)
{
	const struct shown_name *name = find(view->shown, virt, len, view_hash(virt, len));

	return name && name->directory;
}

/* The deepest directory of the skeleton on the way; *ret_next: where the component begins that it has not. NULL: unknown. */
static struct shown_name *way_out(const struct shown *shown, const char *virt, size_t len, size_t *ret_next)
{
	struct view_prefix prefix = view_prefixes(virt, len);
	struct shown_name *last = NULL;

	while (view_longer(&prefix)) {
		struct shown_name *name = find(shown, virt, prefix.len, view_prefix_hash(&prefix));

		if (!name) {
			*ret_next = prefix.start;
			return last;
		}
		if (!name->directory)
			return NULL;
		last = name;
	}
	return NULL;
}

bool view_lacks(const struct place *place)
{
	const struct shown *shown = place->mount->view->shown;
	size_t next = 0;

	if (!(place->mount->flags & MOUNT_SKELETON) || !shown || shown->lost)
		return false;
	(void)way_out(shown, place->virt, place->virt_len, &next);
	/* A name that is too long is told as that. */
	return next && strcspn(place->virt + next, "/") <= NAME_MAX;
}

static int open_host(const struct view *view, struct shown_name *name)
{
	if (name->host_fd < 0 && view->shown->host_fds < HOST_FDS_MAX) {
		name->host_fd = openat2_call(view->host_root_fd, name->virt, O_PATH | O_DIRECTORY, 0, RESOLVE_IN_ROOT);
		view->shown->host_fds += name->host_fd >= 0;
	}
	return name->host_fd;
}

int view_host_stat(const struct view *view, const char *path, int flags, struct stat *ret_stat)
{
	_cleanup_close_ int fd = -1;

	if (view->host_root_fd < 0)
		return fstatat(AT_FDCWD, path, ret_stat, flags) < 0 ? -errno : 0;
	fd = openat2_call(view->host_root_fd, path, O_PATH | (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0), 0,
			  RESOLVE_IN_ROOT);
	if (fd < 0)
		return fd;
	return fstat(fd, ret_stat) < 0 ? -errno : 0;
}

static bool ask_host(const struct view *view, const char *virt, size_t len)
{
	struct shown_name *name = NULL;
	char component[NAME_MAX + 1];
	struct stat there;
	size_t next = 0, end;
	int fd = -1, r;

	if (view->host_root_fd >= 0 && view->shown && !view->shown->lost) {
		name = way_out(view->shown, virt, len, &next);
		fd = name ? open_host(view, name) : next == 1 ? view->host_root_fd : -1;
	}
	/*
	 * One name in a directory that is held: the host may have put another in its place since. What is told then is only
	 * the record's, and no later than for grants, which are held as well.
	 */
	end = next + (fd >= 0 ? strcspn(virt + next, "/") : 0);
	if (fd >= 0 && end - next < sizeof(component)) {
		memcpy(component, virt + next, end - next);
		component[end - next] = '\0';
		r = fstatat(fd, component, &there, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
		if (r < 0 && errno == ENOENT)
			return true;
		if (r == 0 && end == len)
			return false;
	}
	r = view_host_stat(view, virt, AT_SYMLINK_NOFOLLOW, &there);
	return r == -ENOENT || r == -ENOTDIR;
}

/*
 * Programs ask for what they do not find again and again: the loader for its preload list, each process. Nothing but a word in
 * the record rests on the answer, so it may be some milliseconds old.
 */
bool view_host_lacks(const struct view *view, const char *virt, size_t len)
{
	struct answer **slot, *answer;
	uint64_t now;

	if (!view->shown || len >= ANSWER_MAX)
		return ask_host(view, virt, len);
	slot = &view->shown->answer[view_hash(virt, len) % ANSWERS];
	if (!*slot && !(*slot = calloc(1, sizeof(**slot))))
		return ask_host(view, virt, len);
	answer = *slot;
	now = io_now_ns();
	if (now >= answer->until_ns || answer->len != len || memcmp(answer->virt, virt, len) != 0) {
		answer->lacks = ask_host(view, virt, len);
		answer->until_ns = now + ANSWER_NS;
		answer->len = len;
		memcpy(answer->virt, virt, len);
	}
	return answer->lacks;
}
