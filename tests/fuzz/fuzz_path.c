/*
 * Paths through a view that shows one host directory as "/" in pieces — mounts and links of its own standing where
 * the same directories and links are — so that the kernel's RESOLVE_IN_ROOT is the oracle: the same object, or the
 * same error. Input: a byte for base and flags, then the path.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/view/no-libraries.h"
#include "view/private.h"

/* ---- a policy that grants everything ---- */

unsigned policy_get_rights(const struct policy *policy, const char *path, size_t len)
{
	(void)policy;
	(void)path;
	(void)len;
	return POLICY_READ | POLICY_WRITE | POLICY_EXEC;
}

bool policy_may_grant_below(const struct policy *policy, const char *path, size_t len)
{
	(void)policy;
	(void)path;
	(void)len;
	return true;
}

bool policy_may_write(const struct policy *policy, const char *path)
{
	(void)policy;
	(void)path;
	return true;
}

struct policy_decision policy_decide_access(const struct policy *policy, const char *path, size_t len, unsigned want)
{
	(void)policy;
	(void)path;
	(void)len;
	(void)want;
	return (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "granted"};
}

struct policy_decision policy_decide_place(const struct policy *policy, const char *path, size_t len, unsigned want,
					      bool shown)
{
	(void)shown;
	return policy_decide_access(policy, path, len, want);
}

/* ---- the host ---- */

static char host[] = "/tmp/fuzz-path-XXXXXX";
static const char *const dirs[] = {"usr", "usr/lib", "d", "d/e", "d/e/f", "a"};
static const char *const files[] = {"usr/lib/x", "d/file", "d/e/f/x", "x", "a/b"};
static const char *const links[][2] = {{"lib", "usr/lib"},
				       {"d/up", "../a"},
				       {"d/top", "/d/e"},
				       {"loop", "loop"},
				       {"d/e/out", "../../../../x"},
				       {"dangling", "nowhere"},
				       {"chain", "d/top/f/.."},
				       {"a/l", "/lib/x"},
				       {"slash", "d/"}};
static struct view view;
static int root_fd = -1;

static void remove_host(void)
{
	(void)io_remove_tree(AT_FDCWD, host);
}

static void add_mount(const char *virt, const char *below)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s%s", host, below);
	promise(view_add_mount(&view, virt, path, open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), ".", 0, NULL) == 0);
}

static void set_up(void)
{
	promise(mkdtemp(host) != NULL && atexit(remove_host) == 0);
	root_fd = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		promise(mkdirat(root_fd, dirs[i], 0755) == 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		promise(close(openat(root_fd, files[i], O_CREAT | O_WRONLY, 0644)) == 0);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		promise(symlinkat(links[i][1], root_fd, links[i][0]) == 0);
	view.proc_fd = -1;
	add_mount("/", "");
	view.skeleton_mount = view.mount[0];
	add_mount("/d/e", "/d/e");
	add_mount("/usr", "/usr");
	promise(view_add_node(&view, "/lib", NULL, "/usr/lib") == 0);
}

/* ---- the promises ---- */

static void check_canonical(const struct place *place)
{
	const char *virt = place->virt;

	promise(place->virt_len < sizeof(place->virt) && strlen(virt) == place->virt_len);
	promise(virt[0] == '/' && !strstr(virt, "//") && !strstr(virt, "/./") && !strstr(virt, "/../"));
	promise(place->virt_len == 1 || virt[place->virt_len - 1] != '/');
	promise(place->mount && path_is_below(virt, place->mount->virt));
	for (size_t i = 0; i < view.mount_count; i++)
		promise(view.mount[i]->virt_len <= place->mount->virt_len || !path_is_below(virt, view.mount[i]->virt));
}

static void check_same(int fd, int oracle)
{
	struct stat ours, kernels;

	promise(fstat(fd, &ours) == 0 && fstat(oracle, &kernels) == 0);
	promise(ours.st_ino == kernels.st_ino && ours.st_dev == kernels.st_dev);
}

static int ask_kernel(const char *base, const char *path, int flags)
{
	char whole[PATH_MAX * 2];
	int fd;

	(void)snprintf(whole, sizeof(whole), "%s%s%s", *path == '/' ? "" : base, *path == '/' ? "" : "/", path);
	do
		fd = openat2_retry(root_fd, whole, flags, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	while (fd == -EAGAIN); /* a rename or a mount anywhere on the machine came between two "..": openat2(2) */
	return fd;
}

/* The fast way: a text for one strict openat2, which must be right when it succeeds. */
static void check_locate(const char *base, const char *path, unsigned how, int flags, int oracle)
{
	static struct place place;
	int r = view_locate_path(&view, NULL, base, path, how, &place), fd;

	promise(r == 0 || r == -EAGAIN || r == -ELOOP || r == -ENAMETOOLONG);
	if (r < 0)
		return;
	check_canonical(&place);
	fd = view_open_place(&place, flags, 0);
	if (fd < 0)
		return;
	promise(oracle >= 0);
	check_same(fd, oracle);
	(void)close(fd);
}

static void check_walk(const char *base, const char *path, unsigned how, int flags, int oracle)
{
	static struct place place;
	int r = view_walk_path(&view, NULL, base, path, how, &place);

	if (r == 0) {
		check_canonical(&place);
		r = view_open_place(&place, flags | O_NOFOLLOW, 0);
	}
	if (r >= 0 && oracle >= 0)
		check_same(r, oracle);
	else
		promise(r == oracle || r == -ENAMETOOLONG || oracle == -ENAMETOOLONG);
	if (r >= 0)
		(void)close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const bases[] = {"/", "/d", "/d/e/f", "/usr/lib"};
	char path[PATH_MAX];
	unsigned how;
	int flags, oracle;

	if (root_fd < 0)
		set_up();
	if (size < 2 || size > sizeof(path) || data[1] == '\0')
		return 0;
	memcpy(path, data + 1, size - 1);
	path[size - 1] = '\0';
	how = data[0] & 4 ? VIEW_FOLLOW_LAST_LINK : 0;
	flags = O_PATH | (how ? 0 : O_NOFOLLOW) | (path_requires_directory(path) ? O_DIRECTORY : 0);
	oracle = ask_kernel(bases[data[0] & 3], path, flags);
	check_locate(bases[data[0] & 3], path, how, flags, oracle);
	check_walk(bases[data[0] & 3], path, how, flags, oracle);
	if (oracle >= 0)
		(void)close(oracle);
	return 0;
}
