/* callgate policy fmt: brings policy files into their canonical order and layout. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/policy/verbs.h"
#include "policy/parse/format.h"

#define VERB_IN_MESSAGES "policy fmt"
#define FMT_FILE_BYTES_MAX ((size_t)16 << 20)

/* Options of `callgate policy fmt`. */
struct fmt_options {
	bool write, check;
};

/*
 * Prints or writes the formatted text of one file. CLI_EXIT_OK; 1: with --check, the file is not in canonical form;
 * CLI_EXIT_ERROR with a message.
 */
static int fmt_output_text(const struct fmt_options *options, const char *path, const char *text, const char *formatted)
{
	bool same = strcmp(text, formatted) == 0;
	int ret;

	if (options->check) {
		if (!same)
			cli_note("%s: not in canonical form; callgate policy fmt -w writes that", path);
		return same ? CLI_EXIT_OK : 1;
	}
	if (!options->write)
		return cli_print_text(VERB_IN_MESSAGES, formatted);
	ret = same ? 0 : policy_replace_file(path, formatted);
	if (ret < 0)
		cli_print_error(VERB_IN_MESSAGES, "%s: cannot be written: %s", path, strerror(-ret));
	return ret < 0 ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}

static int fmt_format_file(const struct fmt_options *options, const char *path)
{
	_cleanup_policy_errors_ struct policy_errors errors = {0};
	_cleanup_free_ char *text = NULL, *formatted = NULL;
	size_t len;
	int ret = io_read_file(AT_FDCWD, path, FMT_FILE_BYTES_MAX, &text, &len);

	if (ret == 0 && strlen(text) != len)
		ret = -EILSEQ;
	if (ret < 0) {
		cli_print_error(VERB_IN_MESSAGES, "%s: %s", path, ret == -EILSEQ ? "has a NUL byte" : strerror(-ret));
		return CLI_EXIT_ERROR;
	}
	ret = policy_format_text(path, text, &errors, &formatted);
	cli_print_policy_errors(NULL, &errors);
	if (ret == -ENOMEM)
		return cli_fail_no_memory(VERB_IN_MESSAGES);
	return ret < 0 ? CLI_EXIT_ERROR : fmt_output_text(options, path, text, formatted);
}

int policy_main_fmt(int argc, char **argv)
{
	static const struct cli_option table[] = {
		CLI_FLAG("write", 'w', "write the files in place; one that is not valid stays as it is",
			 offsetof(struct fmt_options, write)),
		CLI_FLAG("check", 0, "only name the files that would change", offsetof(struct fmt_options, check)),
		{0},
	};
	struct fmt_options options = {.write = false};
	const struct cli_syntax syntax = {
		.verb = VERB_IN_MESSAGES,
		.usage = "Usage: callgate policy fmt [OPTION...] FILE...\n\n"
			 "Prints policy files in canonical order and layout. Their meaning stays.\n\n",
		.epilogue = "\nExit status: 0, 1 with --check when a file would change, 125 error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (optind == argc || (options.write && options.check)) {
		cli_print_error(VERB_IN_MESSAGES,
				optind == argc ? "no file given" : "-w and --check contradict each other");
		return cli_fail_usage(VERB_IN_MESSAGES);
	}
	for (status = CLI_EXIT_OK; optind < argc; optind++) {
		int one = fmt_format_file(&options, argv[optind]);

		status = one > status ? one : status;
	}
	return status;
}
