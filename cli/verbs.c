#include "cli/verbs.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"

#define VERBS_NAME_COLUMN_WIDTH_MIN 8 /* least width of the column of names in --help */

static int verbs_print_help(const struct cli_verbs *verbs)
{
	_cleanup_buf_ struct buf text = {0};
	size_t width = VERBS_NAME_COLUMN_WIDTH_MIN, len;

	for (size_t i = 0; i < verbs->verb_count; i++)
		width = (len = strlen(verbs->verbs[i].name)) > width ? len : width;
	buf_puts(&text, verbs->usage);
	for (size_t i = 0; i < verbs->verb_count; i++)
		buf_printf(&text, "  %-*s  %s\n", (int)width, verbs->verbs[i].name, verbs->verbs[i].help);
	buf_puts(&text, verbs->epilogue);
	return cli_print_buf(verbs->parent, &text);
}

static int verbs_refuse_name(const struct cli_verbs *verbs, const char *name)
{
	_cleanup_free_ const char **names = calloc(verbs->verb_count + 1, sizeof(*names));
	const char *nearest;

	for (size_t i = 0; names && i < verbs->verb_count; i++)
		names[i] = verbs->verbs[i].name;
	nearest = names && name ? text_find_nearest_word(name, names) : NULL;
	if (nearest)
		cli_print_error(verbs->parent, "unknown verb \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		cli_print_error(verbs->parent, name ? "unknown verb \"%s\"" : "no verb given", name);
	return cli_fail_usage(verbs->parent);
}

int cli_run_verb(const struct cli_verbs *verbs, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (name && (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0))
		return verbs_print_help(verbs);
	if (name && strcmp(name, "--version") == 0)
		return cli_print_version();
	for (size_t i = 0; name && i < verbs->verb_count; i++)
		if (strcmp(name, verbs->verbs[i].name) == 0)
			return verbs->verbs[i].run(argc - 1, argv + 1);
	return verbs_refuse_name(verbs, name);
}
