/*
 * callgate session checkpoint, restore: keep what a session's workspace is, and make it that again. The session stops
 * its programs meanwhile, and passes on a descriptor of the directory as they see it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/session/session.h"
#include "keeper/session-client.h"
#include "workspace/checkpoint/checkpoint.h"
#include "workspace/store.h"

struct checkpoint_options {
	bool json, list, remove;
};

/* The workspace of a session, while it is this process' own. */
struct held_workspace {
	const char *verb;  /* for messages */
	char *socket_name; /* owned */
	const char *id;    /* of the session, in socket_name */
	int socket_fd, workspace_fd, all_fd;
	bool programs_live;
	uint64_t disk_left, disk_limit; /* of limits.disk; UINT64_MAX: none */
	struct workspace workspace;
	struct checkpoint_dir dir[WORKSPACE_DIRS_MAX];
	size_t dirs; /* entries of dir[] that were set */
};
#define HELD_WORKSPACE_INIT                                       \
	(struct held_workspace)                                   \
	{                                                         \
		.socket_fd = -1, .workspace_fd = -1, .all_fd = -1 \
	}

static void held_workspace_release(struct held_workspace *held)
{
	for (size_t i = 0; i < held->dirs; i++) {
		workspace_layer_release(&held->dir[i].layer);
		cleanup_close(&held->dir[i].dir_fd);
		cleanup_close(&held->dir[i].view_fd);
		free(held->dir[i].path);
	}
	close_fd(&held->all_fd);
	close_fd(&held->workspace_fd);
	close_fd(&held->socket_fd);
	free(held->socket_name);
}
#define _cleanup_held_workspace_ __attribute__((cleanup(held_workspace_release)))

/* ---- taking the workspace, and giving it back ---- */

/* Finds the session, and its workspace. CLI_EXIT_OK, or CLI_EXIT_ERROR with a message. */
static int held_workspace_find(struct held_workspace *held, const char *id)
{
	_cleanup_close_ int dir_fd = session_open_directory();

	held->socket_fd = dir_fd < 0 ? -1 : session_connect(dir_fd, id, &held->socket_name);
	if (held->socket_fd < 0)
		return CLI_EXIT_ERROR;
	held->id = held->socket_name + strlen(SESSION_SOCKET_PREFIX);
	held->workspace_fd = workspace_open_of_run(dir_fd, held->id, &held->workspace);
	if (held->workspace_fd >= 0)
		return CLI_EXIT_OK;
	cli_print_error(held->verb, "%s: has no workspace; callgate session create --cow makes one with it", id);
	return CLI_EXIT_ERROR;
}

/* Has the session stop its programs. CLI_EXIT_OK, or CLI_EXIT_ERROR with a message. */
static int held_workspace_stop_programs(struct held_workspace *held)
{
	_cleanup_json_ json_t *answer = NULL;
	int view_fds[WORKSPACE_DIRS_MAX];
	const char *error, *why;
	bool has_all = true;
	int r = session_client_send(held->socket_fd,
				    json_pack("{s:s, s:s}", "op", "workspace", "for", strchr(held->verb, ' ') + 1),
				    NULL, 0);

	if (r == 0)
		r = session_client_receive_fds(held->socket_fd, &answer, view_fds, held->dirs);
	for (size_t i = 0; r == 0 && i < held->dirs; i++) {
		held->dir[i].view_fd = view_fds[i];
		has_all &= view_fds[i] >= 0;
	}
	if (r < 0) {
		cli_print_error(held->verb, "%s: the session does not answer: %s", held->id, strerror(-r));
		return CLI_EXIT_ERROR;
	}
	held->programs_live = json_integer_value(json_object_get(answer, "programs")) > 0;
	held->disk_left = held->disk_limit = UINT64_MAX;
	if (json_is_integer(json_object_get(answer, "disk_left"))) {
		held->disk_left = (uint64_t)json_integer_value(json_object_get(answer, "disk_left"));
		held->disk_limit = (uint64_t)json_integer_value(json_object_get(answer, "disk_limit"));
	}
	if (json_is_true(json_object_get(answer, "paused")) && has_all)
		return CLI_EXIT_OK;
	error = json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
	why = json_string_value(json_object_get(answer, "why"));
	cli_print_error(held->verb, "%s: %s%s", held->id, error ? "" : "its programs cannot be stopped: ",
			error ? error
			: why ? why
			      : "no reason is told");
	return CLI_EXIT_ERROR;
}

/* Opens the layer of directory `at`. CLI_EXIT_OK, or CLI_EXIT_ERROR with a message. */
static int held_workspace_open_layer(struct held_workspace *held, size_t at)
{
	struct checkpoint_dir *dir = &held->dir[at];
	const char *why = "its layer cannot be opened";
	int r = workspace_read_dir(held->workspace_fd, at, &held->workspace);

	dir->dir_fd = r < 0 ? r : workspace_open_layer_dir(held->workspace_fd, at);
	r = dir->dir_fd < 0 ? dir->dir_fd
			    : workspace_layer_open_live(held->workspace_fd, at, held->workspace.dir, &dir->layer, &why);
	if (r == 0)
		dir->path = strdup(held->workspace.dir);
	if (r == 0 && !dir->path)
		r = -ENOMEM;
	if (r < 0)
		cli_print_error(held->verb, "%s, of %s: %s: %s", held->id, held->workspace.dir, why, strerror(-r));
	return r < 0 ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}

/* Takes the workspace of a session. CLI_EXIT_OK, or CLI_EXIT_ERROR with a message. */
static int held_workspace_take(struct held_workspace *held, const char *id)
{
	int status = CLI_EXIT_OK;

	if (held_workspace_find(held, id) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	for (; held->dirs < held->workspace.dir_count && held->dirs < WORKSPACE_DIRS_MAX; held->dirs++)
		held->dir[held->dirs] = CHECKPOINT_DIR_INIT;
	held->all_fd = checkpoint_open_all(held->workspace_fd);
	if (held->all_fd < 0) {
		cli_print_error(held->verb, "%s: its checkpoints cannot be opened: %s", id,
				held->all_fd == -EBUSY ? "another process makes or restores one"
						       : strerror(-held->all_fd));
		return CLI_EXIT_ERROR;
	}
	if (held_workspace_stop_programs(held) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	for (size_t at = 0; status == CLI_EXIT_OK && at < held->dirs; at++)
		status = held_workspace_open_layer(held, at);
	return status;
}

/*
 * Lets the programs go on, and waits until they do: a program can be started in the session then. The session puts on
 * record what was done with checkpoint `name`, and -errno or 0. checkpoint_bytes: by how much checkpoints take more
 * than before.
 */
static void held_workspace_give_back(struct held_workspace *held, const char *name, int error, int64_t checkpoint_bytes)
{
	_cleanup_json_ json_t *answer = NULL;
	json_t *request = json_pack("{s:s, s:s, s:i, s:I}", "op", "release", "checkpoint", name, "error", -error,
				    "checkpoint_bytes", (json_int_t)checkpoint_bytes);

	for (size_t i = 0; i < held->dirs; i++)
		close_fd(&held->dir[i].view_fd);
	if (session_client_send(held->socket_fd, request, NULL, 0) == 0)
		(void)session_client_receive(held->socket_fd, &answer, NULL); /* fails when the session has ended */
}

/* ---- messages ---- */

/* Prints why nothing, or not all, was done. Returns CLI_EXIT_ERROR. */
static int checkpoint_print_failure(struct held_workspace *held, const char *name, int error,
				    const struct checkpoint_work *work)
{
	const char *path = work->failed_path[0] ? work->failed_path : NULL;
	const bool is_for_acl = error == -EINVAL && work->acl_failures > 0;
	const bool names_dir = path && held->dirs > 1 &&
			       workspace_read_dir(held->workspace_fd, work->failed_at, &held->workspace) == 0;
	char left[TEXT_SIZE_SIZE], limit[TEXT_SIZE_SIZE];

	text_format_size(held->disk_left, left);
	text_format_size(held->disk_limit, limit);
	if (work->is_too_large)
		cli_print_error(held->verb,
				"%s: the checkpoint takes more than the %s that are left of limits.disk, which is %s; "
				"remove some with --remove",
				held->id, left, limit);
	else if (error == -EEXIST)
		cli_print_error(held->verb, "%s: has a checkpoint %s already; choose another name", held->id, name);
	else if (error == -ENOENT && !path)
		cli_print_error(held->verb, "%s: no checkpoint %s; see callgate session checkpoint --list", held->id,
				name);
	else if (error == -E2BIG)
		cli_print_error(held->verb, "%s: has %u checkpoints, which is the most; remove some with --remove",
				held->id, CHECKPOINTS_MAX);
	else
		cli_print_error(held->verb, "%s: %s%s%s%s%s", held->id, names_dir ? held->workspace.dir : "",
				names_dir ? "/" : "", path ? path : "", path ? ": " : "",
				is_for_acl ? "its ACL names users or groups that an overlay of an ordinary user cannot "
					     "have; a session of --cow=copy can"
					   : strerror(-error));
	return CLI_EXIT_ERROR;
}

static int checkpoint_print_result(const struct held_workspace *held, const char *name,
				   const struct checkpoint_work *work, bool json)
{
	if (!json)
		return CLI_EXIT_OK;
	return cli_print_json(held->verb,
			      json_pack("{s:s, s:s, s:I, s:I, s:I}", "session", held->id, "checkpoint", name,
					"copied_files", (json_int_t)work->copied_files, "copied_bytes",
					(json_int_t)work->copied_bytes, "kept_files", (json_int_t)work->kept_files));
}

/* ---- list ---- */

struct list_context {
	const char *verb, *id;
	bool json;
};

static int list_print_checkpoint(void *ctx, const struct checkpoint *checkpoint)
{
	const struct list_context *list = ctx;
	char time[32];
	struct tm parts;

	if (!gmtime_r(&checkpoint->time.tv_sec, &parts) || !strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &parts))
		return -EOVERFLOW;
	if (list->json)
		return cli_print_json(list->verb, json_pack("{s:s, s:s, s:s, s:b}", "session", list->id, "checkpoint",
							    checkpoint->name, "time", time, "latest",
							    checkpoint->is_latest)) == CLI_EXIT_OK
			       ? 0
			       : -EIO;
	return text_printf(stdout, "%s  %s%s\n", checkpoint->name, time,
			   checkpoint->is_latest ? "  (made or restored last)" : "");
}

static int checkpoint_list(struct held_workspace *held, const char *id, bool json)
{
	struct list_context list = {.verb = held->verb, .json = json};
	int r;

	if (held_workspace_find(held, id) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	list.id = held->id;
	r = checkpoint_visit(held->workspace_fd, list_print_checkpoint, &list);
	if (r < 0)
		cli_print_error(held->verb, "%s: its checkpoints cannot be listed: %s", id, strerror(-r));
	return r < 0 ? CLI_EXIT_ERROR : cli_print_text(held->verb, "");
}

/* ---- the verbs ---- */

static int checkpoint_make_and_print(struct held_workspace *held, const char *id, const char *wanted, bool json)
{
	char name[CHECKPOINT_NAME_SIZE] = "";
	struct checkpoint_work work;
	int r;

	if (wanted && !checkpoint_is_name(wanted)) {
		cli_print_error(held->verb,
				"%s: is no name; write up to %u letters, digits, and - _ . not at the start", wanted,
				CHECKPOINT_NAME_SIZE - 1);
		return CLI_EXIT_ERROR;
	}
	if (held_workspace_take(held, id) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	(void)snprintf(name, sizeof(name), "%s", wanted ? wanted : "");
	r = checkpoint_make(held->dir, held->dirs, held->all_fd, name, held->programs_live, held->disk_left, &work);
	held_workspace_give_back(held, name, r, r < 0 ? 0 : (int64_t)work.held_bytes);
	if (r < 0)
		return checkpoint_print_failure(held, name, r, &work);
	if (!json && text_printf(stdout, "%s\n", name) < 0)
		return CLI_EXIT_ERROR;
	return checkpoint_print_result(held, name, &work, json);
}

static int checkpoint_remove_one(struct held_workspace *held, const char *id, const char *name)
{
	const struct checkpoint_work work = {.failed_path = ""};
	uint64_t freed = 0;
	int r;

	if (held_workspace_find(held, id) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	held->all_fd = checkpoint_open_all(held->workspace_fd);
	r = held->all_fd < 0 ? held->all_fd : checkpoint_remove(held->all_fd, name, &freed);
	if (freed > 0)
		held_workspace_give_back(held, name, r, -(int64_t)freed);
	return r < 0 ? checkpoint_print_failure(held, name, r, &work) : CLI_EXIT_OK;
}

int session_main_checkpoint(int argc, char **argv)
{
	_cleanup_held_workspace_ struct held_workspace held = HELD_WORKSPACE_INIT;
	struct checkpoint_options options = {false};
	static const struct cli_option table[] = {
		CLI_FLAG("list", 'l', "print the checkpoints instead, the oldest first",
			 offsetof(struct checkpoint_options, list)),
		CLI_FLAG("remove", 0, "remove the checkpoint NAME instead",
			 offsetof(struct checkpoint_options, remove)),
		CLI_FLAG("json", 0, "print one JSON object, with --list one a checkpoint",
			 offsetof(struct checkpoint_options, json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "session checkpoint",
		.usage = "Usage: callgate session checkpoint [OPTION] ID [NAME]\n\n"
			 "Keeps what the workspace of the session ID (--cow) is now, and prints the name of the\n"
			 "checkpoint: NAME, or the next number.  Programs that run are stopped meanwhile.\n\n",
		.table = {{NULL, table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	argc -= optind;
	argv += optind;
	held.verb = syntax.verb;
	if (argc == 0 || argc > 2 || (options.list && (argc > 1 || options.remove)) || (options.remove && argc < 2)) {
		cli_print_error(syntax.verb, "name a session, and one checkpoint, or with --list none");
		return cli_fail_usage(syntax.verb);
	}
	cli_ignore_broken_pipes();
	if (options.list)
		return checkpoint_list(&held, argv[0], options.json);
	if (options.remove)
		return checkpoint_remove_one(&held, argv[0], argv[1]);
	return checkpoint_make_and_print(&held, argv[0], argv[1], options.json);
}

int session_main_restore(int argc, char **argv)
{
	_cleanup_held_workspace_ struct held_workspace held = HELD_WORKSPACE_INIT;
	struct checkpoint_options options = {false};
	static const struct cli_option table[] = {
		CLI_FLAG("json", 0, "print one JSON object", offsetof(struct checkpoint_options, json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "session restore",
		.usage = "Usage: callgate session restore [OPTION] ID CHECKPOINT\n\n"
			 "Makes the workspace of the session ID what it was at CHECKPOINT.  Programs that run are\n"
			 "stopped meanwhile.  What was written since is lost, unless it is in another checkpoint.\n\n",
		.table = {{NULL, table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax), r;
	struct checkpoint_work work;

	if (status != CLI_OPTIONS_PARSED)
		return status;
	held.verb = syntax.verb;
	if (argc - optind != 2) {
		cli_print_error(syntax.verb, "name a session, and one of its checkpoints");
		return cli_fail_usage(syntax.verb);
	}
	argv += optind;
	cli_ignore_broken_pipes();
	if (held_workspace_take(&held, argv[0]) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	r = checkpoint_restore(held.dir, held.dirs, held.all_fd, argv[1], held.programs_live, &work);
	held_workspace_give_back(&held, argv[1], r, 0);
	if (r == -EINVAL && work.acl_failures > 0)
		cli_print_error(syntax.verb, "%s: all was restored, except files and directories: %llu", held.id,
				(unsigned long long)work.acl_failures);
	else if (r < 0 && (r != -ENOENT || work.failed_path[0]))
		cli_print_error(syntax.verb, "%s: only a part was restored; do it again when the cause is mended",
				held.id);
	return r < 0 ? checkpoint_print_failure(&held, argv[1], r, &work)
		     : checkpoint_print_result(&held, argv[1], &work, options.json);
}
