#include "tests/unit/view/view-rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "tests/unit/view/no-libraries.h"

struct view_rig view_rig;

/* ---- the policy: /data is granted, /globs only for *.csv, /etc/motd is provided ---- */

const struct policy_mount *policy_get_mounts(const struct policy *policy, size_t *ret_count)
{
	(void)policy;
	*ret_count = 3;
	return view_rig.grants;
}

const struct policy_link *policy_get_links(const struct policy *policy, size_t *ret_count)
{
	(void)policy;
	*ret_count = 0;
	return NULL;
}

unsigned policy_get_rights(const struct policy *policy, const char *path, size_t len)
{
	(void)policy;
	if (path_is_below(path, "/data") || strcmp(path, "/etc/motd") == 0)
		return POLICY_READ | POLICY_WRITE;
	return path_is_below(path, "/globs") && len > 4 && strcmp(path + len - 4, ".csv") == 0 ? POLICY_READ : 0;
}

bool policy_may_grant_below(const struct policy *policy, const char *path, size_t len)
{
	(void)policy;
	return path_is_below(path, "/globs") && !memchr(path, '.', len);
}

bool policy_may_write(const struct policy *policy, const char *path)
{
	return policy_get_rights(policy, path, strlen(path)) & POLICY_WRITE;
}

struct policy_decision policy_decide_access(const struct policy *policy, const char *path, size_t len, unsigned want)
{
	unsigned rights = policy_get_rights(policy, path, len);

	if (strcmp(path, "/etc/denied") == 0)
		return (struct policy_decision){
			.verdict = VERDICT_DENY, .error = EACCES, .rule = "fake", .reason = "denied_by_rule"};
	if ((rights & want) == want)
		return (struct policy_decision){.verdict = VERDICT_ALLOW, .rule = "fake"};
	return (struct policy_decision){
		.verdict = VERDICT_DENY, .error = rights ? EROFS : ENOENT, .reason = "not_granted"};
}

struct policy_decision policy_decide_place(const struct policy *policy, const char *path, size_t len, unsigned want,
					   bool shown)
{
	struct policy_decision decision = policy_decide_access(policy, path, len, want);

	if (decision.verdict != VERDICT_DENY || decision.error == EACCES || policy_get_rights(policy, path, len) != 0 ||
	    !(shown || policy_may_grant_below(policy, path, len)))
		return decision;
	if (want & (POLICY_WRITE | POLICY_EXEC))
		return (struct policy_decision){.verdict = VERDICT_DENY, .error = want & POLICY_EXEC ? EACCES : EROFS};
	return (struct policy_decision){.verdict = VERDICT_PROVIDE, .reason = "ancestor"};
}

/* ---- the host ---- */

void view_rig_path_to(char out[PATH_MAX], const char *dir, const char *name)
{
	ck_assert_int_lt(snprintf(out, PATH_MAX, "%s/%s", dir, name), PATH_MAX);
}

void view_rig_make_file(const char *dir, const char *name)
{
	char path[PATH_MAX];
	int fd;

	view_rig_path_to(path, dir, name);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

void view_rig_make_dir(const char *dir, const char *name, char out[PATH_MAX])
{
	char path[PATH_MAX];

	view_rig_path_to(path, dir, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	if (out)
		memcpy(out, path, sizeof(path));
}

void view_rig_make_link(const char *target, const char *dir, const char *name)
{
	char path[PATH_MAX];

	view_rig_path_to(path, dir, name);
	ck_assert_int_eq(symlink(target, path), 0);
}

const struct view_provided_file view_rig_provides[VIEW_RIG_PROVIDED_FILES] = {
	{(char *)"/etc/resolv.conf", (char *)"run", 3}, {(char *)"/etc/motd", (char *)"run", 3},
	{(char *)"/data/sub/given", (char *)"run", 3},  {(char *)"/data/sub/made", (char *)"run", 3},
	{(char *)"/etc/denied", (char *)"run", 3},
};

void view_rig_make_view(struct view **ret_view)
{
	struct view_options options = {.acls_fd = -1,
				       .scratch_host = view_rig.scratch,
				       .scratch_base = view_rig.runs,
				       .scratch_fd = -1,
				       .root_fd = -1,
				       .tmpfs_fd = -1,
				       .pts_fd = -1,
				       .provided_file = view_rig_provides,
				       .provided_file_count = VIEW_RIG_PROVIDED_FILES};
	struct policy_error error;

	options.scratch_fd = open(view_rig.scratch, O_PATH | O_DIRECTORY);
	ck_assert_int_eq(io_remove_tree(options.scratch_fd, "provided"), 0);
	ck_assert_int_eq(view_create(NULL, &options, ret_view, &error), 0);
	(void)close(options.scratch_fd);
}

void view_rig_set_up(void)
{
	(void)snprintf(view_rig.host, sizeof(view_rig.host), "/tmp/test-view-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(view_rig.host));
	view_rig_make_dir(view_rig.host, "data", view_rig.data);
	view_rig_make_dir(view_rig.host, "globs", view_rig.globs);
	view_rig_make_dir(view_rig.data, "sub", NULL);
	view_rig_make_dir(view_rig.data, "runs", view_rig.runs);
	view_rig_make_dir(view_rig.runs, "one", view_rig.scratch);
	view_rig_make_file(view_rig.data, "file");
	view_rig_make_file(view_rig.data, "sub/inner");
	view_rig_make_file(view_rig.data, "sub/given");
	view_rig_make_link("sub", view_rig.data, "link");
	view_rig_make_link("/data/file", view_rig.data, "absolute");
	view_rig_make_link("/etc/shadow", view_rig.data, "outside");
	view_rig_make_link("../../../../../../etc/shadow", view_rig.data, "upward");
	view_rig_make_link("loop", view_rig.data, "loop");
	view_rig_make_link("nowhere", view_rig.data, "dangling");
	view_rig_make_dir(view_rig.globs, "deep", NULL);
	view_rig_make_file(view_rig.globs, "a.csv");
	view_rig_make_file(view_rig.globs, "secret.txt");
	view_rig_make_file(view_rig.globs, "deep/b.csv");
	view_rig.grants[0] =
		(struct policy_mount){.kind = POLICY_MOUNT_TREE, .virt = "/data", .host_path = view_rig.data};
	view_rig.grants[1] = (struct policy_mount){.kind = POLICY_MOUNT_TREE,
						   .virt = "/globs",
						   .host_path = view_rig.globs,
						   .is_granted_by_globs_only = true};
	view_rig.grants[2] = (struct policy_mount){
		.kind = POLICY_MOUNT_PROVIDE, .virt = "/etc/motd", .provided_text = "hello", .provided_text_len = 5};
	view_rig_make_view(&view_rig.view);
}

void view_rig_tear_down(void)
{
	view_free(view_rig.view);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, view_rig.host), 0);
}
