/* callgate experiment report: prints a table and draws a plot of the finished cells. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/experiment/experiment.h"

static const char *row_get_text(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

/* A number that was measured of a run. 0: it was not. */
static double row_get_measured_value(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(json_object_get(row, "measured"), key));
}

/* Whether a row of the results counts for this summary, because program and policy are the same. */
static bool row_is_of_summary(const json_t *row, const struct report_summary *summary)
{
	return strcmp(row_get_text(row, "program"), summary->program) == 0 &&
	       strcmp(row_get_text(row, "policy"), summary->policy) == 0;
}

static int doubles_compare(const void *value, const void *other)
{
	double a = *(const double *)value, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

static double doubles_get_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), doubles_compare);
	if (count == 0)
		return 0;
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Computes the numbers of one line of the report. times: working space for the durations, with room for all rows. */
static void summary_compute(struct report_summary *summary, const json_t *rows, double *times)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (!row_is_of_summary(row, summary))
			continue;
		times[summary->runs++] = row_get_measured_value(row, "time_ms");
		summary->ok += strcmp(row_get_text(row, "status"), "ok") == 0;
		summary->mean_denials += json_number_value(json_object_get(row, "denials"));
		summary->mean_calls += row_get_measured_value(row, "calls");
	}
	summary->mean_denials /= (double)summary->runs;
	summary->mean_calls /= (double)summary->runs;
	summary->median_time_ms = doubles_get_median(times, summary->runs);
}

/* Computes the slowdown of each line, relative to the first line of the same program. */
static void summaries_compute_slowdowns(struct report_summary *summary, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t first = 0; first <= i; first++)
			if (strcmp(summary[first].program, summary[i].program) == 0) {
				if (summary[first].median_time_ms > 0)
					summary[i].slowdown = summary[i].median_time_ms / summary[first].median_time_ms;
				break;
			}
}

/* Makes a line of the report for each program and policy, in the plan's order. Owned by the caller; NULL: no memory. */
static struct report_summary *summaries_create(const json_t *rows, size_t *ret_count)
{
	_cleanup_free_ double *times = calloc(json_array_size(rows) + 1, sizeof(*times));
	struct report_summary *summary = NULL;
	size_t count = 0, room = 0, i;
	json_t *row;

	json_array_foreach(rows, i, row) {
		size_t at = 0;

		while (at < count && !row_is_of_summary(row, &summary[at]))
			at++;
		if (at < count)
			continue;
		if (!times || !array_reserve(&summary, count, &room)) {
			free(summary);
			return NULL;
		}
		summary[count++] = (struct report_summary){.program = row_get_text(row, "program"),
						    .policy = row_get_text(row, "policy")};
	}
	for (i = 0; i < count; i++)
		summary_compute(&summary[i], rows, times);
	summaries_compute_slowdowns(summary, count);
	*ret_count = count;
	return count ? summary : calloc(1, sizeof(*summary));
}

static int report_print_table(const struct report_summary *summary, size_t count)
{
	int program_width = 7, policy_width = 6;

	for (size_t i = 0; i < count; i++) {
		if ((int)strlen(summary[i].program) > program_width)
			program_width = (int)strlen(summary[i].program);
		if ((int)strlen(summary[i].policy) > policy_width)
			policy_width = (int)strlen(summary[i].policy);
	}
	(void)text_printf(stdout, "%-*s  %-*s %6s %6s %9s %9s %10s %9s\n", program_width, "program", policy_width,
			  "policy", "runs", "ok", "denials", "calls", "time ms", "slowdown");
	for (size_t i = 0; i < count; i++)
		(void)text_printf(stdout, "%-*s  %-*s %6zu %6zu %9.1f %9.0f %10.1f %9.2f\n", program_width,
				  summary[i].program, policy_width, summary[i].policy, summary[i].runs, summary[i].ok,
				  summary[i].mean_denials, summary[i].mean_calls, summary[i].median_time_ms,
				  summary[i].slowdown);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CLI_EXIT_OK;
	cli_print_error("experiment", "cannot write to standard output: %s", strerror(errno));
	return CLI_EXIT_ERROR;
}

static int report_print_json(const struct report_summary *summary, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f}", "program", summary[i].program,
					"policy", summary[i].policy, "runs", (json_int_t)summary[i].runs, "ok",
					(json_int_t)summary[i].ok, "denials", summary[i].mean_denials, "calls",
					summary[i].mean_calls, "time_ms", summary[i].median_time_ms, "slowdown",
					summary[i].slowdown));
	return cli_print_json("experiment", list);
}

int experiment_print_report(const struct experiment_options *options)
{
	_cleanup_json_ json_t *rows = NULL;
	_cleanup_free_ struct report_summary *summary = NULL;
	_cleanup_buf_ struct buf plot = {0};
	size_t count = 0;

	if (rows_load(options->dir, &rows) < 0)
		return CLI_EXIT_ERROR;
	summary = summaries_create(rows, &count);
	if (!summary)
		return cli_fail_no_memory("experiment");
	if (count == 0) {
		cli_print_error("experiment", "%s: no cell is finished; run the plan first", options->dir);
		return CLI_EXIT_ERROR;
	}
	plot_make(&plot, summary, count);
	if (rows_write(options->dir, rows, options->csv) < 0 ||
	    results_write_file(options->dir, "report.svg", &plot) < 0)
		return CLI_EXIT_ERROR;
	return options->json ? report_print_json(summary, count) : report_print_table(summary, count);
}
