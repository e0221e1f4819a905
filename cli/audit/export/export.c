/* callgate audit export: writes the records in a format of other tools. */
#include "cli/audit/export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define OUTPUT_BUFFER_BYTES (1u << 20)

static const struct export_format *const export_formats[] = {&export_jsonl, &export_csv,  &export_sqlite,
							      &export_ocsf,  &export_otlp, &export_perfetto};
#define FORMATS (sizeof(export_formats) / sizeof(export_formats[0]))

struct export_options {
	struct audit_filter filter;
	const struct export_format *format;
	const char *output;
};

struct export_run {
	const struct export_options *options;
	struct export export;
	int error; /* of the format */
};

int export_flush_line(struct export *export)
{
	if (export->line.failed)
		return -ENOMEM;
	if (export->line.len > 0)
		(void)fwrite(export->line.data, 1, export->line.len, export->out);
	export->line.len = 0;
	return 0;
}

static bool export_take_entry(void *ctx, const struct audit_entry *entry)
{
	struct export_run *run = ctx;

	if (!entry->json && !audit_filter_matches(&run->options->filter, entry))
		return true;
	run->export.records += !entry->json;
	run->error = run->options->format->entry(&run->export, entry);
	return run->error == 0 && !ferror(run->export.out);
}

/* ---- the output ---- */

struct output {
	const char *shown; /* for messages */
	char *path;        /* where it goes; owned; NULL: it is no regular file */
	char *temporary;   /* owned */
	FILE *file;        /* owned, unless it is stdout */
};

static int output_open_stream(struct output *output, int fd)
{
	output->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!output->file) {
		cleanup_close(&fd);
		return -errno;
	}
	return 0;
}

/* Opens a new file, which gets its name when it is complete; or stdout, or what is no regular file. 0 or -errno. */
static int output_open(struct output *output, const char *path, const struct export_format *format)
{
	struct stat status;
	bool exists = path && stat(path, &status) == 0;

	output->shown = path ? path : "standard output";
	if (!path) {
		output->file = stdout;
		return 0;
	}
	if (exists && S_ISDIR(status.st_mode))
		return -EISDIR;
	if (exists && !S_ISREG(status.st_mode))
		return format->needs_file ? -ESPIPE
					  : output_open_stream(output, open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
	output->path = exists ? realpath(path, NULL) : strdup(path); /* a link stays one */
	output->temporary = output->path ? cli_format("%s.XXXXXX", output->path) : NULL;
	if (!output->temporary)
		return -errno;
	return output_open_stream(output, mkostemp(output->temporary, O_CLOEXEC));
}

/* Closes the output; `keep`: a file gets its name. 0 or -errno. */
static int output_close(struct output *output, bool keep)
{
	int r = 0;

	if (output->file) {
		if (ferror(output->file) || fflush(output->file) != 0)
			r = errno ? -errno : -EIO;
		if (r == 0 && output->path && keep && fsync(fileno(output->file)) < 0 && errno != EINVAL)
			r = -errno;
		if (output->file != stdout && fclose(output->file) != 0 && r == 0)
			r = -errno;
	}
	if (output->temporary && output->file) {
		if (r == 0 && keep && rename(output->temporary, output->path) < 0)
			r = -errno;
		if (r < 0 || !keep)
			(void)unlink(output->temporary); /* there is a message about the first failure */
	}
	free(output->path);
	free(output->temporary);
	return r;
}

/* ---- the verb ---- */

static int export_set_format(const struct cli_given *given, void *format)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (strcmp(given->value, export_formats[i]->name) == 0) {
			*(const struct export_format **)format = export_formats[i];
			return 0;
		}
	return cli_refuse_value(given, "not one of jsonl, csv, sqlite, ocsf, otlp-json and perfetto");
}

#define AT(member) offsetof(struct export_options, member)

static int export_parse_options(int argc, char **argv, struct export_options *options)
{
	static const struct cli_option table[] = {
		{"format", 0, "NAME", "jsonl, csv, sqlite, ocsf, otlp-json or perfetto", export_set_format, AT(format),
		 0},
		{"output", 'o', "FILE", "write FILE, which appears when it is complete (- or without: standard output)",
		 cli_set_text, AT(output), 0},
		AUDIT_FILTER_OPTIONS(AT(filter)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "audit",
		.usage = "Usage: callgate audit export --format NAME [-o FILE] [OPTION...] LOG...\n\n"
			 "Writes the records of runs for other tools. Options that select records are combined.\n\n",
		.epilogue = "\nThe formats are described in callgate(1).\n",
		.mixed = true,
		.table = {{NULL, table, options}},
	};

	return cli_parse_options(argc, argv, &syntax);
}

/* Reads the logs, and writes all to export.out. CLI_OK or CLI_ERROR. */
static int export_write(struct export_run *run, const char *const *paths)
{
	const struct export_format *format = run->options->format;
	const struct audit_reading reading = {.paths = paths, .each = export_take_entry, .ctx = run};
	int status = CLI_OK;

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
	buf_release(&run->export.line);
	return status;
}

static int export_run(const struct export_options *options, const char *const *paths)
{
	struct export_run run = {.options = options, .export = {.several = paths[1] != NULL}};
	const char *path = options->output && strcmp(options->output, "-") != 0 ? options->output : NULL;
	struct output output = {0};
	int status, r = output_open(&output, path, options->format);

	if (r < 0) {
		cli_print_error("audit", "%s: %s", output.shown, r == -ESPIPE ? "not a regular file" : strerror(-r));
		(void)output_close(&output, false);
		return CLI_ERROR;
	}
	(void)setvbuf(output.file, NULL, _IOFBF, OUTPUT_BUFFER_BYTES);
	run.export.out = output.file;
	run.export.terminal = isatty(fileno(output.file));
	status = export_write(&run, paths);
	r = output_close(&output, run.error == 0 && (status == CLI_OK || run.export.records > 0));
	r = run.error < 0 ? run.error : r;
	if (r < 0)
		cli_print_error("audit", "cannot write %s: %s", output.shown, strerror(-r));
	return r < 0 ? CLI_ERROR : status;
}

static int export_check_options(const struct export_options *options)
{
	bool to_stdout = !options->output || strcmp(options->output, "-") == 0;

	if (!options->format)
		cli_print_error("audit", "export needs --format; see callgate audit export --help");
	else if (to_stdout && options->format->needs_file)
		cli_print_error("audit", "%s is written to a file: name one with -o", options->format->name);
	else
		return CLI_PARSED;
	return CLI_ERROR;
}

int audit_main_export(int argc, char **argv)
{
	struct export_options options = {0};
	const char *const *paths;
	int status = export_parse_options(argc, argv, &options);

	if (status == CLI_PARSED)
		status = export_check_options(&options);
	if (status == CLI_PARSED) {
		paths = audit_get_paths(argv, "export");
		status = paths ? export_run(&options, paths) : CLI_ERROR;
	}
	audit_filter_release(&options.filter);
	return status;
}
