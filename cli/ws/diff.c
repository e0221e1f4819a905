#include "cli/ws/diff.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/ws/fingerprint.h"
#include "cli/ws/open.h"
#include "cli/ws/patch.h"
#include "cli/ws/select.h"
#include "cli/ws/show.h"
#include "cli/ws/stale.h"
#include "cli/ws/versions.h"
#include "supervisor/report.h"
#include "syscalls/account/result/changes.h"
#include "workspace/bases.h"
#include "workspace/conflict.h"
#include "workspace/names/moves.h"

#define DIFF_VERB "ws diff"
#define DIFF_PATH_COLUMNS_MAX 60 /* most columns of paths with --stat; a longer one moves its numbers to the right */

/* Exit statuses of callgate ws diff, as those of diff(1). */
enum { WS_DIFF_EQUAL = 0, WS_DIFF_DIFFERENT = 1 };

struct diff_options {
	bool stat, patch, json;
	const char *checkpoint; /* the name of a checkpoint; NULL: the workspace as it is */
};

/* The changes that are shown. */
struct diff_view {
	const struct workspace_changes *changes;
	struct ws_patch patch; /* also has the directory that is shown with paths */
	uint64_t hash_bytes_left;
};

static void diff_tell_unread(const char *path, int error)
{
	if (error == -EUCLEAN)
		cli_print_error(DIFF_VERB, "%s: the layer has not all of it: it was not written by --cow", path);
	else if (error == -ESTALE)
		cli_print_error(DIFF_VERB, "%s: " WS_LOST_TEXT, path);
	else
		cli_print_error(DIFF_VERB, "%s: cannot be compared: %s", *path ? path : ".", ws_explain_unread(error));
}

/* ---- ways of showing ---- */

/* What of a conflict `conflict` of its JSON says: where its base is, or why there is none. NULL: no memory. */
static json_t *diff_make_conflict(struct diff_view *view, const struct workspace_bases *bases,
				  const struct workspace_change *change)
{
	const struct workspace_layer *layer = view->patch.layer;
	char text[PATH_MAX], path[2 * PATH_MAX] = "", sha256[SHA256_HEX_SIZE] = "";
	const bool has_base =
		workspace_bases_find(bases, layer, change, text) && io_read_fd_name(layer->dir_fd, path) > 0;

	if (has_base) {
		ws_fingerprint_base(layer, text, &view->hash_bytes_left, sha256);
		(void)strncat(path, "/", sizeof(path) - strlen(path) - 1);
		(void)strncat(path, text, sizeof(path) - strlen(path) - 1);
	}
	return json_pack("{s:o, s:s?, s:o}", "base", report_make_text_json(has_base ? path : NULL), "base_sha256",
			 *sha256 ? sha256 : NULL, "no_base", report_make_text_json(has_base ? NULL : text));
}

/*
 * Whether a change is a conflict. bases: NULL: of a checkpoint, whose conflicts are not told. ret_of_old: the change by
 * the name that was changed outside, which is the old one of a renamed file. 1, 0 or -errno.
 */
static int diff_is_conflict(const struct diff_view *view, const struct workspace_bases *bases,
			    const struct workspace_change *change, struct workspace_change *ret_of_old)
{
	*ret_of_old = *change;
	if (change->kind == WORKSPACE_RENAMED) {
		ret_of_old->path = change->old_path;
		ret_of_old->old_path = NULL;
	}
	return bases ? workspace_is_conflict(view->patch.layer, bases, ret_of_old) : 0;
}

/* Prints a change as JSON. bases: NULL: of a checkpoint, whose conflicts are not told. 0 or -errno. */
static int diff_print_change_json(struct diff_view *view, const struct workspace_bases *bases,
				  const struct workspace_change *change)
{
	const struct workspace_layer *layer = view->patch.layer;
	struct ws_fingerprints fingerprints;
	struct workspace_change of_old;
	const int is_conflict = diff_is_conflict(view, bases, change, &of_old);

	if (is_conflict < 0)
		return is_conflict;
	ws_fingerprints_make(layer, change, &view->hash_bytes_left, &fingerprints);
	return show_json(view->patch.dir, change, is_conflict ? diff_make_conflict(view, bases, &of_old) : NULL,
			 &fingerprints, NULL);
}

/* Prints a change as a line. bases: as above. 0 or -errno. */
static int diff_print_change_line(struct diff_view *view, const struct workspace_bases *bases,
				  const struct workspace_change *change)
{
	struct workspace_change of_old;
	const int is_conflict = diff_is_conflict(view, bases, change, &of_old);

	return is_conflict < 0 ? is_conflict : show_line(view->patch.dir, change, is_conflict);
}

/* Prints all changes, as JSON or as lines. bases: as above. 0 or -errno. */
static int diff_print_all(struct diff_view *view, const struct workspace_bases *bases, bool is_json)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < view->changes->count; i++)
		r = is_json ? diff_print_change_json(view, bases, &view->changes->item[i])
			    : diff_print_change_line(view, bases, &view->changes->item[i]);
	return r;
}

static int diff_print_patch(struct diff_view *view)
{
	int r = 0;

	view->patch.to_terminal = isatty(STDOUT_FILENO);
	for (int part = 0; part < WS_PATCH_PART_MAX; part++)
		for (size_t i = 0; r == 0 && i < view->changes->count; i++)
			r = patch_print_change(&view->patch, &view->changes->item[i], (enum ws_patch_part)part);
	if (r == 0 && view->patch.left_out > 0)
		cli_print_error(DIFF_VERB,
				"the patch does not have %zu of the changes, or not wholly: directories, binary and "
				"large files, owners, modes other than 644 and 755; without --patch all are listed",
				view->patch.left_out);
	return r;
}

/* The columns that the paths of --stat need. */
static int diff_measure_paths(const struct diff_view *view)
{
	size_t columns = 0;

	for (size_t i = 0; i < view->changes->count; i++) {
		_cleanup_free_ char *path = show_make_path(view->patch.dir, &view->changes->item[i]);

		if (path && strlen(path) > columns)
			columns = strlen(path);
	}
	return columns < DIFF_PATH_COLUMNS_MAX ? (int)columns : DIFF_PATH_COLUMNS_MAX;
}

static int diff_print_stat(struct diff_view *view)
{
	const int columns = diff_measure_paths(view);
	int r = 0;

	for (size_t i = 0; r == 0 && i < view->changes->count; i++)
		r = patch_print_stat(&view->patch, &view->changes->item[i], columns);
	if (r < 0 || view->changes->count == 0)
		return r;
	return text_printf(stdout, " %zu changed, %llu insertions(+), %llu deletions(-)\n", view->changes->count,
			   (unsigned long long)view->patch.added, (unsigned long long)view->patch.removed);
}

/* Shows the changes in the way that was asked for. bases: as above. 0 or -errno. */
static int diff_show(const struct diff_options *options, struct diff_view *view, const struct workspace_bases *bases)
{
	if (options->patch)
		return diff_print_patch(view);
	if (options->stat)
		return diff_print_stat(view);
	return diff_print_all(view, bases, options->json);
}

/* ---- the verb ---- */

/* Finds and shows the changes of one directory. dir: shown with their paths; NULL: not. Returns the exit status. */
static int diff_run(const struct diff_options *options, const char *dir, const struct workspace_layer *layer,
		    int reads_dir_fd, struct ws_selection *selection)
{
	_cleanup_workspace_changes_ struct workspace_changes changes = {.on_unread = diff_tell_unread};
	_cleanup_workspace_bases_ struct workspace_bases bases = {.text = NULL};
	struct diff_view view = {.changes = &changes,
				 .patch = {.layer = layer, .dir = dir},
				 .hash_bytes_left = CHANGES_HASHED_TOTAL_BYTES_MAX};
	int r;

	ws_selection_watch_unchanged(selection, &changes);
	r = workspace_changes_find(layer, &changes);
	if (r == 0 && !options->checkpoint)
		r = workspace_bases_load(layer, &bases);
	if (r == 0 && !options->checkpoint)
		workspace_first_dirs_drop_unchanged(&bases.first_dirs, layer, &changes);
	if (r == 0 && !options->checkpoint)
		r = workspace_moves_find(layer, &bases, &changes);
	if (r == 0 && !options->checkpoint)
		r = ws_versions_drop(layer, &bases, &changes);
	if (r < 0) {
		cli_print_error(DIFF_VERB, "cannot compare: %s",
				r == -E2BIG ? "more than 1,000,000 changes" : strerror(-r));
		return CLI_EXIT_ERROR;
	}
	ws_selection_drop_others(selection, &changes);
	r = diff_show(options, &view, options->checkpoint ? NULL : &bases);
	if (r == -ENOENT && (options->patch || options->stat))
		cli_print_error(DIFF_VERB, "there is no /usr/bin/diff: install diffutils, or leave out --patch and "
					   "--stat");
	else if (r < 0)
		cli_print_error(DIFF_VERB, "cannot show the changes: %s", strerror(-r));
	ws_tell_stale_reads(DIFF_VERB, dir, layer, reads_dir_fd, options->json);
	if (view.patch.unread > 0)
		cli_print_error(DIFF_VERB, "contents cannot be read of %zu of the changes", view.patch.unread);
	if (cli_print_text(DIFF_VERB, "") != CLI_EXIT_OK || r < 0 || changes.is_incomplete || changes.has_lost ||
	    view.patch.unread > 0)
		return CLI_EXIT_ERROR;
	return changes.count > 0 ? WS_DIFF_DIFFERENT : WS_DIFF_EQUAL;
}

/* Parses the options. CLI_OPTIONS_PARSED, or the exit status. */
static int diff_parse(int argc, char **argv, struct diff_options *options)
{
	static const struct cli_option table[] = {
		CLI_FLAG("stat", 0, "numbers of lines that were added and removed",
			 offsetof(struct diff_options, stat)),
		CLI_FLAG("patch", 0, "a patch, which git apply and patch -p1 take",
			 offsetof(struct diff_options, patch)),
		CLI_FLAG("json", 0, "one JSON object a change", offsetof(struct diff_options, json)),
		CLI_TEXT("checkpoint", "NAME", "what had changed at this checkpoint; also while the session goes on",
			 offsetof(struct diff_options, checkpoint)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = DIFF_VERB,
		.usage = "Usage: callgate ws diff [OPTION] ID [PATH|GLOB...]\n\n"
			 "Shows what a run with --cow has changed: A added, D deleted, M modified, R renamed, T "
			 "replaced "
			 "by\n"
			 "another type; all of it, or what is at or below one of the paths. The exit status is 1 if "
			 "there are\n"
			 "changes, and 0 if there are none, also if the run has changed nothing at one of the "
			 "paths.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, options}},
	};
	const int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (options->stat + options->patch + options->json > 1)
		cli_print_error(DIFF_VERB, "--stat, --patch and --json are different forms: name one");
	else if (optind == argc)
		cli_print_error(DIFF_VERB, "name a workspace; callgate ws list has their ids");
	else
		return CLI_OPTIONS_PARSED;
	return cli_fail_usage(DIFF_VERB);
}

/* Shows the changes of directory `at`, whose layer is in layers_fd. Returns the exit status. */
static int diff_run_dir(const struct diff_options *options, int workspace_fd, int layers_fd, size_t at,
			struct workspace *workspace, const struct ws_patterns *patterns)
{
	_cleanup_workspace_layer_ struct workspace_layer layer = WORKSPACE_LAYER_INIT;
	_cleanup_ws_selection_ struct ws_selection selection = {0};
	_cleanup_close_ int reads_dir = -1;
	int r = ws_open_layer(DIFF_VERB, workspace_fd, layers_fd, at, workspace, &layer);

	if (r == 1)
		return WS_DIFF_EQUAL;
	if (r < 0 || ws_selection_init(&selection, DIFF_VERB, workspace, patterns) < 0)
		return CLI_EXIT_ERROR;
	if (selection.is_empty)
		return WS_DIFF_EQUAL;
	if (options->checkpoint)
		reads_dir = workspace_open_layer_dir(workspace_fd, at);
	return diff_run(options, workspace->dir_count > 1 ? workspace->dir : NULL, &layer,
			options->checkpoint ? reads_dir : layer.dir_fd, &selection);
}

/* Shows the changes of all directories. Returns the exit status. */
static int diff_run_all(const struct diff_options *options, int workspace_fd, int layers_fd,
			struct workspace *workspace, const struct ws_patterns *patterns)
{
	int worst = WS_DIFF_EQUAL;

	for (size_t at = 0; at < workspace->dir_count; at++) {
		const int status = diff_run_dir(options, workspace_fd, layers_fd, at, workspace, patterns);

		worst = status > worst ? status : worst;
	}
	if (worst != CLI_EXIT_ERROR) /* else it is not known; that nothing differs there is true */
		(void)ws_patterns_tell_unmatched(patterns, DIFF_VERB, options->json);
	return worst;
}

int cli_main_ws_diff(int argc, char **argv)
{
	struct diff_options options = {.checkpoint = NULL};
	_cleanup_close_ int fd = -1, checkpoint_fd = -1; /* fd holds the lock, unless it is of a session that goes on */
	_cleanup_ws_patterns_ struct ws_patterns patterns = {.text = NULL};
	struct workspace workspace;
	int status = diff_parse(argc, argv, &options);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (options.checkpoint)
		checkpoint_fd = ws_open_checkpoint(DIFF_VERB, argv[optind], options.checkpoint, &workspace, &fd);
	else
		fd = ws_open_workspace(DIFF_VERB, argv[optind], &workspace);
	if (fd < 0 ||
	    ws_patterns_init(&patterns, DIFF_VERB, fd, &workspace, argv + optind + 1, (size_t)(argc - optind - 1)) < 0)
		return CLI_EXIT_ERROR;
	return diff_run_all(&options, fd, options.checkpoint ? checkpoint_fd : fd, &workspace, &patterns);
}
