/* What the files of `callgate experiment` share. */
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
 *     results.csv           the same, with --csv
 *     report.svg            by `experiment report`
 *
 * A cell becomes finished by rename(2), and so do the files. Directories of several shards are merged by copying their
 * cells into one.
 */
#define RESULTS_CELLS "cells"
#define RESULTS_RUNNING "running"
#define RESULTS_ROW "row.json"

struct experiment_options {
	const char *plan, *dir; /* dir: the results directory */
	size_t jobs;
	size_t shard, shards; /* from 1; 1 of 1 by default */
	bool csv, keep_workdirs, quiet, json;
};

/* Runs the cells of a plan that the directory does not have yet, then writes the rows. An exit status. */
int experiment_run_plan(const struct experiment_options *options);

/* Prints the table of a results directory and writes its plot. An exit status. */
int experiment_print_report(const struct experiment_options *options);

/*
 * All rows of a results directory, by index. *ret_rows is an array, owned by the caller. 0, or -errno with a message
 * printed.
 */
int rows_load(const char *dir, json_t **ret_rows);

/* Writes results.jsonl and, with `csv`, results.csv. 0, or -errno with a message printed. */
int rows_write(const char *dir, const json_t *rows, bool csv);

/* Writes a file of a directory aside and renames it. 0, or -errno with a message printed. */
struct buf;
int results_write_file(const char *dir, const char *name, const struct buf *text);

/* The plot of a report: denials and slowdown by policy, as an SVG image. */
struct summary;
void plot_make(struct buf *out, const struct summary *summary, size_t count);

/* One line of the report: the cells of a program under a policy. */
struct summary {
	const char *program, *policy; /* borrowed from the rows */
	size_t runs, ok;
	double denials; /* mean */
	double calls;   /* mean */
	double time_ms; /* median */
	double slowdown; /* time over that of the program's first policy; 0: unknown */
};

#endif
