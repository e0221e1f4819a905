#include "cli/ws/stale.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "approval/show.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "supervisor/report.h"
#include "workspace/reads.h"

#define STALE_LINES_MAX 20 /* most warnings that are printed; JSON has all */

struct stale {
	const char *verb, *dir;
	bool as_json;
	size_t count;
};

static int stale_print_json(const struct stale *stale, const char *path, bool is_removed)
{
	_cleanup_json_ json_t *object =
		json_pack("{s:s, s:o, s:b, s:o*}", "warning", "stale_read", "path", report_make_text_json(path),
			  "removed", is_removed, "dir", stale->dir ? report_make_text_json(stale->dir) : NULL);
	_cleanup_free_ char *text = show_as_json(object, JSON_COMPACT);

	return text ? text_printf(stdout, "%s\n", text) : 0;
}

static int stale_tell(void *ctx, const char *path, bool is_removed)
{
	struct stale *stale = ctx;

	stale->count++;
	if (stale->as_json)
		return stale_print_json(stale, path, is_removed);
	if (stale->count <= STALE_LINES_MAX)
		cli_print_error(stale->verb, "warning: %s%s%s: %s outside after the run had read it",
				stale->dir ? stale->dir : "", stale->dir ? "/" : "", path,
				is_removed ? "removed" : "changed");
	return 0;
}

void ws_tell_stale_reads(const char *verb, const char *dir, const struct workspace_layer *layer, int reads_dir_fd,
			 bool as_json)
{
	struct stale stale = {.verb = verb, .dir = dir, .as_json = as_json};
	bool more;
	int r = workspace_reads_visit_stale(layer, reads_dir_fd, stale_tell, &stale, &more);

	if (r < 0)
		cli_print_error(verb, "warning: what the run has read is not known: %s", strerror(-r));
	if (!as_json && stale.count > STALE_LINES_MAX)
		cli_print_error(verb,
				"warning: %zu more files that the run had read were changed outside; ws diff "
				"--json has them all",
				stale.count - STALE_LINES_MAX);
	if (more)
		cli_print_error(verb, "warning: the run has read more files than are noted; whether those were changed "
				      "outside is not known");
}
