/*
 * Declarations shared by the source files of `callgate experiment`, which runs the cells of a plan. A cell is one run:
 * a program, an input, a policy and a repetition.
 */
#ifndef CALLGATE_CLI_EXPERIMENT_EXPERIMENT_H
#define CALLGATE_CLI_EXPERIMENT_EXPERIMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The results directory:
 *
 *     cells/DIGEST/         a finished cell: row.json, audit.jsonl, result.json, messages.txt
 *     running/DIGEST/       a cell that has not finished; removed by the next run
 *     results.jsonl         the rows of all finished cells, by their index in the plan
 *     results.csv           the same rows as CSV, with --csv
 *     report.svg            by `experiment report`
 *
 * A finished cell is renamed from running/ to cells/. Files are written under another name and renamed. The results of
 * several shards are merged by copying all cells into one results directory.
 */
#define RESULTS_CELLS_DIR "cells"
#define RESULTS_RUNNING_DIR "running" /* directories of cells that are running */
#define RESULTS_ROW_FILE "row.json"   /* in a finished cell's directory: its results as JSON */

/* Options of `callgate experiment`. */
struct experiment_options {
	const char *plan, *dir; /* dir: path of the results directory */
	size_t jobs;            /* --jobs: the most runs at a time */
	/*
	 * --shard: the number of the shard that this process runs, from 1, and the number of shards; 1 of 1 by default
	 */
	size_t shard, shards;
	bool csv, keep_workdirs, quiet, json;
};

/* Runs the plan's cells that the results directory does not have yet, then writes the rows. Returns the exit status. */
int experiment_run_plan(const struct experiment_options *options);

/* Prints the table of a results directory and writes its plot. Returns the exit status. */
int experiment_print_report(const struct experiment_options *options);

/*
 * Loads all rows of a results directory, sorted by their index in the plan. *ret_rows is an array, owned by the caller.
 * 0, or -errno with a message.
 */
int rows_load(const char *dir, json_t **ret_rows);

/* Writes results.jsonl and, with `csv`, results.csv. 0, or -errno with a message printed. */
int rows_write(const char *dir, const json_t *rows, bool csv);

struct buf;
struct report_summary;

/* Writes a file under another name and renames it to `name` in `dir`. 0, or -errno with a message printed. */
int results_write_file(const char *dir, const char *name, const struct buf *text);

/* Draws the plot of a report: denials and slowdown by policy, as an SVG image. */
void plot_make(struct buf *out, const struct report_summary *summary, size_t count);

/* One line of the report: the cells of a program under a policy. */
struct report_summary {
	const char *program, *policy; /* names; borrowed from the rows */
	size_t runs, ok;
	double mean_denials;   /* mean number of denials in a cell */
	double mean_calls;     /* mean number of system calls in a cell */
	double median_time_ms; /* median duration of a cell */
	double slowdown; /* median_time_ms divided by that of the program's first policy; 0: unknown */
};

#endif
