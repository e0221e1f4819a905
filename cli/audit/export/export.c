/* callgate audit export: writes the records in the format of another tool. */
#include "cli/audit/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_BUFFER_BYTES (1u << 20)

static const struct export_format *const export_formats[] = {&export_jsonl, &export_csv,  &export_sqlite,
							      &export_ocsf,  &export_otlp, &export_perfetto};
#define EXPORT_FORMAT_COUNT (sizeof(export_formats) / sizeof(export_formats[0]))

/* Options of `callgate audit export`. */
struct export_options {
	struct audit_filter filter;
	const struct export_format *format;
	const char *output_path; /* --output; NULL or "-": stdout */
};

/* One execution of `callgate audit export`. */
struct export_run {
	const struct export_options *options;
	struct export_state export; /* where the format writes to, and how far it is */
	int error; /* of the format */
};

/* Passes a record that matches the filter, or a line about the log, to the chosen format. Returns false to stop. */
static bool export_on_entry(void *ctx, const struct audit_entry *entry)
{
	struct export_run *run = ctx;

	if (!entry->json && !audit_filter_matches(&run->options->filter, entry))
		return true;
	run->export.record_count += !entry->json;
	run->error = run->options->format->entry(&run->export, entry);
	return run->error == 0 && !ferror(run->export.out);
}

static int export_set_format(const struct cli_given_option *given, void *format)
{
	for (size_t i = 0; i < EXPORT_FORMAT_COUNT; i++)
		if (strcmp(given->value, export_formats[i]->name) == 0) {
			*(const struct export_format **)format = export_formats[i];
			return 0;
		}
	return cli_refuse_value(given, "not one of jsonl, csv, sqlite, ocsf, otlp-json and perfetto");
}

#define FIELD_OFFSET(member) offsetof(struct export_options, member)

static int export_parse_options(int argc, char **argv, struct export_options *options)
{
	static const struct cli_option table[] = {
		{"format", 0, "NAME", "jsonl, csv, sqlite, ocsf, otlp-json or perfetto", export_set_format,
		 FIELD_OFFSET(format), 0},
		{"output", 'o', "FILE", "write FILE, which appears when it is complete (- or without: standard output)",
		 cli_set_text, FIELD_OFFSET(output_path), 0},
		AUDIT_FILTER_OPTIONS(FIELD_OFFSET(filter)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "audit",
		.usage = "Usage: callgate audit export --format NAME [-o FILE] [OPTION...] LOG...\n\n"
			 "Writes the records of runs for other tools. Options that select records are combined.\n\n",
		.epilogue = "\nThe formats are described in callgate(1).\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, options}},
	};

	return cli_parse_options(argc, argv, &syntax);
}

/* Reads the logs, and writes all records to export.out. CLI_EXIT_OK or CLI_EXIT_ERROR. */
static int export_write_records(struct export_run *run, const char *const *paths)
{
	const struct export_format *format = run->options->format;
	const struct audit_reading reading = {.paths = paths, .each = export_on_entry, .ctx = run};
	int status = CLI_EXIT_OK;

	run->error = format->begin ? format->begin(&run->export) : 0;
	if (run->error == 0)
		status = audit_read_logs(&reading);
	if (run->error == 0 && format->end)
		run->error = format->end(&run->export);
	if (run->error == 0)
		run->error = export_flush_line(&run->export);
	if (format->release)
		format->release(&run->export);
	free(run->export.state);
	buf_release(&run->export.line_buffer);
	return status;
}

static int export_logs(const struct export_options *options, const char *const *paths)
{
	struct export_run run = {.options = options, .export = {.has_several_logs = paths[1] != NULL}};
	const char *path = options->output_path && strcmp(options->output_path, "-") != 0 ? options->output_path : NULL;
	struct export_output output = {0};
	int status, r = output_open(&output, path, options->format->needs_file);

	if (r < 0) {
		cli_print_error("audit", "%s: %s", output.shown_path,
				r == -ESPIPE ? "not a regular file" : strerror(-r));
		(void)output_close(&output, false);
		return CLI_EXIT_ERROR;
	}
	(void)setvbuf(output.file, NULL, _IOFBF, OUTPUT_BUFFER_BYTES);
	run.export.out = output.file;
	run.export.out_is_terminal = isatty(fileno(output.file));
	status = export_write_records(&run, paths);
	r = output_close(&output, run.error == 0 && (status == CLI_EXIT_OK || run.export.record_count > 0));
	r = run.error < 0 ? run.error : r;
	if (r < 0)
		cli_print_error("audit", "cannot write %s: %s", output.shown_path, strerror(-r));
	return r < 0 ? CLI_EXIT_ERROR : status;
}

static int export_check_options(const struct export_options *options)
{
	bool to_stdout = !options->output_path || strcmp(options->output_path, "-") == 0;

	if (!options->format)
		cli_print_error("audit", "export needs --format; see callgate audit export --help");
	else if (to_stdout && options->format->needs_file)
		cli_print_error("audit", "%s is written to a file: name one with -o", options->format->name);
	else
		return CLI_OPTIONS_PARSED;
	return CLI_EXIT_ERROR;
}

int audit_main_export(int argc, char **argv)
{
	struct export_options options = {0};
	const char *const *paths;
	int status = export_parse_options(argc, argv, &options);

	if (status == CLI_OPTIONS_PARSED)
		status = export_check_options(&options);
	if (status == CLI_OPTIONS_PARSED) {
		paths = audit_get_log_paths(argv, "export");
		status = paths ? export_logs(&options, paths) : CLI_EXIT_ERROR;
	}
	audit_filter_release(&options.filter);
	return status;
}
