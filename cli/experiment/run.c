/* Runs cells, several at once. A finished cell stays finished whatever happens to this process. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "base/times.h"
#include "cli/batch/batch.h"
#include "cli/experiment/cells.h"
#include "cli/experiment/experiment.h"

#define PROGRESS_BAR_COLUMNS 20u

/* One of the runs that an experiment executes at the same time. */
struct run_job {
	pid_t pid; /* pid of a cell's run; 0: the job is unused */
	const struct cell *cell;
};

/* The state of running an experiment's cells. */
struct experiment {
	const struct experiment_options *options;
	struct plan plan;
	struct cell *cells;
	size_t cell_count, next;
	struct run_job *job;
	size_t running, wanted, finished, failed; /* numbers of cells; wanted: those that this process has to run */
	uint64_t start_ns;
	bool shows_progress, stopped;
};

/* Makes the path of a cell's directory. Owned by the caller; NULL: no memory. */
static char *cell_get_dir(const struct experiment *experiment, const char *below, const struct cell *cell)
{
	return text_format("%s/%s/%s", experiment->options->dir, below, cell->digest);
}

/* With --shard I/N: whether the cell is one of share I, which has every N-th cell. */
static bool cell_is_of_shard(const struct experiment *experiment, const struct cell *cell)
{
	return cell->index % experiment->options->shards == experiment->options->shard - 1;
}

/* Whether the cell's directory has its row already, from an earlier run of the experiment. */
static bool cell_is_finished(const struct experiment *experiment, const struct cell *cell)
{
	_cleanup_free_ char *row =
		text_format("%s/" RESULTS_CELLS_DIR "/%s/" RESULTS_ROW_FILE, experiment->options->dir, cell->digest);

	return row && access(row, F_OK) == 0;
}

static void experiment_show_progress(const struct experiment *experiment)
{
	size_t done = experiment->finished + experiment->failed;
	size_t filled = experiment->wanted ? done * PROGRESS_BAR_COLUMNS / experiment->wanted : PROGRESS_BAR_COLUMNS;
	uint64_t spent_s = (io_read_clock_ns() - experiment->start_ns) / NS_PER_S;
	uint64_t left_s = done ? spent_s * (experiment->wanted - done) / done : 0;

	char text[160], left[48] = "";
	int len;

	if (!experiment->shows_progress)
		return;
	if (done > 0)
		(void)snprintf(left, sizeof(left), ", %" PRIu64 ":%02" PRIu64 " left", left_s / 60, left_s % 60);
	len = snprintf(text, sizeof(text), "\r[%.*s%.*s] %zu of %zu, %zu failed%s   %s", (int)filled,
		       "####################", (int)(PROGRESS_BAR_COLUMNS - filled), "....................", done,
		       experiment->wanted, experiment->failed, left, done == experiment->wanted ? "\n" : "");
	(void)!write(STDERR_FILENO, text, (size_t)len); /* not by text_printf(), which escapes the carriage return */
}

/* Ends the line of the progress bar, because a message follows. */
static void experiment_end_progress_line(const struct experiment *experiment)
{
	if (experiment->shows_progress)
		(void)fputc('\n', stderr);
}

/* Makes the options of a cell's run. Owned by the caller; the texts are borrowed from the plan and `seed`. */
static const char **cell_make_options(const struct cell *cell, const char *seed)
{
	const struct cli_list *policy = &cell->policy->options;
	const char **options = calloc(policy->count + 6, sizeof(*options));
	size_t count = 0;

	if (!options)
		return NULL;
	for (; count < policy->count; count++)
		options[count] = policy->item[count];
	options[count++] = "--die-with-parent";
	options[count++] = "-e";
	options[count++] = seed;
	if (cell->input->file) {
		options[count++] = "--input";
		options[count] = cell->input->file;
	}
	return options;
}

/* Starts a cell's run. Returns its pid or -errno. */
static pid_t cell_start_run(const struct experiment *experiment, const struct cell *cell)
{
	_cleanup_free_ char *dir = cell_get_dir(experiment, RESULTS_RUNNING_DIR, cell);
	_cleanup_free_ char *seed =
		text_format("CALLGATE_SEED=%llu", (unsigned long long)cell_get_seed(&experiment->plan, cell));
	_cleanup_free_ const char **options = seed ? cell_make_options(cell, seed) : NULL;
	_cleanup_list_ struct cli_list command = {0};
	struct batch_run run = {.dir = dir, .workdir = cell->program->workdir, .options = options,
				.stdin_path = cell->input->stdin_file};

	if (!dir || !options || cell_expand_command(&experiment->plan, cell, &command) < 0)
		return -ENOMEM;
	run.program = (const char *const *)command.item;
	if (io_remove_tree(AT_FDCWD, dir) < 0 && errno != ENOENT)
		return -errno; /* files of an earlier run of the cell cannot be removed */
	return mkdir(dir, 0777) < 0 ? -errno : batch_start_run(&run);
}

/* Writes a cell's row and moves the cell's directory to the finished ones. 0, or -errno with a message. */
static int cell_store_row(const struct experiment *experiment, const struct cell *cell, const char *dir,
			 const json_t *result)
{
	_cleanup_free_ char *finished = cell_get_dir(experiment, RESULTS_CELLS_DIR, cell),
			    *workdir = text_format("%s/" BATCH_WORKDIR, dir);
	_cleanup_json_ json_t *row = cell_make_row(&experiment->plan, cell, result);
	_cleanup_free_ char *line = row ? json_dumps(row, JSON_COMPACT) : NULL;
	_cleanup_buf_ struct buf text = {0};
	int r;

	if (!finished || !workdir || !line)
		return cli_fail_no_memory("experiment"), -ENOMEM;
	buf_printf(&text, "%s\n", line);
	r = results_write_file(dir, RESULTS_ROW_FILE, &text);
	if (r < 0)
		return r;
	if (!experiment->options->keep_workdirs)
		(void)io_remove_tree(AT_FDCWD, workdir); /* files that cannot be removed do no harm */
	if (rename(dir, finished) == 0)
		return 0;
	r = -errno;
	cli_print_error("experiment", "%s: %s", finished, strerror(-r));
	return r;
}

static const char *result_get_status(const json_t *result)
{
	const char *status = json_string_value(json_object_get(result, "status"));

	return status ? status : "error";
}

/*
 * Handles the end of a cell's run. A cell whose run failed in callgate itself stays unfinished, so that the next
 * `callgate experiment run` runs it again.
 */
static void cell_handle_end_of_run(struct experiment *experiment, const struct cell *cell)
{
	_cleanup_free_ char *dir = cell_get_dir(experiment, RESULTS_RUNNING_DIR, cell);
	_cleanup_json_ json_t *result = dir ? batch_read_result(dir) : NULL;

	if (result && strcmp(result_get_status(result), "error") != 0) {
		*(cell_store_row(experiment, cell, dir, result) == 0 ? &experiment->finished : &experiment->failed) +=
			1;
		return;
	}
	experiment->failed++;
	if (experiment->stopped)
		return;
	experiment_end_progress_line(experiment);
	cli_print_error("experiment", "program %s, input %s, policy %s, repetition %u: there is no result",
			cell->program->name, *cell->input->name ? cell->input->name : "(none)", cell->policy->name,
			cell->repetition);
	if (dir)
		batch_print_messages("experiment", dir);
}

/* Starts the next cell that is to be run. False: there is none, or starting it failed (with a message). */
static bool experiment_start_next(struct experiment *experiment, struct run_job *job)
{
	const struct cell *cell;
	pid_t pid;

	do {
		if (experiment->next == experiment->cell_count)
			return false;
		cell = &experiment->cells[experiment->next++];
	} while (!cell_is_of_shard(experiment, cell) || cell_is_finished(experiment, cell));
	pid = cell_start_run(experiment, cell);
	if (pid < 0) {
		cli_print_error("experiment", "%s/" RESULTS_RUNNING_DIR "/%s: %s", experiment->options->dir,
				cell->digest, strerror(-pid));
		experiment->stopped = true;
		experiment->failed++;
		return false;
	}
	*job = (struct run_job){.pid = pid, .cell = cell};
	experiment->running++;
	return true;
}

/* Waits for a child, and handles the end of its cell. */
static void experiment_wait_for_one_job(struct experiment *experiment)
{
	int status;
	pid_t pid = waitpid(-1, &status, 0); /* if interrupted (EINTR), the caller tries again */

	for (size_t i = 0; i < experiment->options->jobs; i++) {
		struct run_job *job = &experiment->job[i];

		if (pid <= 0 || job->pid != pid)
			continue;
		experiment->running--;
		job->pid = 0;
		if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
			experiment->stopped = true;
		cell_handle_end_of_run(experiment, job->cell);
	}
}

static void experiment_run_cells(struct experiment *experiment)
{
	experiment->start_ns = io_read_clock_ns();
	do {
		for (size_t i = 0; i < experiment->options->jobs && !experiment->stopped; i++)
			if (experiment->job[i].pid == 0 && !experiment_start_next(experiment, &experiment->job[i]))
				break;
		if (experiment->running > 0)
			experiment_wait_for_one_job(experiment);
		experiment_show_progress(experiment);
	} while (experiment->running > 0 || (experiment->next < experiment->cell_count && !experiment->stopped));
}

/* Counts the cells that are to be run. */
static size_t experiment_count_cells_to_run(const struct experiment *experiment)
{
	size_t wanted = 0;

	for (size_t i = 0; i < experiment->cell_count; i++)
		wanted += cell_is_of_shard(experiment, &experiment->cells[i]) &&
			  !cell_is_finished(experiment, &experiment->cells[i]);
	return wanted;
}

/* Makes the results directory or, with `below`, a directory in it, unless it exists. Returns false after a message. */
static bool results_make_dir(const char *dir, const char *below)
{
	_cleanup_free_ char *path = text_format("%s%s%s", dir, *below ? "/" : "", below);

	if (path && (mkdir(path, 0777) == 0 || errno == EEXIST))
		return true;
	cli_print_error("experiment", "%s: %s; name a directory for the results with -o", path ? path : dir,
			strerror(path ? errno : ENOMEM));
	return false;
}

/*
 * Locks a shard, so that no other process runs it in this results directory. Returns a descriptor that holds the lock,
 * or -1.
 */
static int results_lock_shard(const struct experiment_options *options)
{
	_cleanup_free_ char *path =
		text_format("%s/shard-%zu-of-%zu.lock", options->dir, options->shard, options->shards);
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	cli_print_error("experiment", "%s: %s", path ? path : options->dir,
			errno == EWOULDBLOCK ? "another callgate is running this shard" : strerror(errno));
	cleanup_close(&fd);
	return -1;
}

/* Writes the rows of all finished cells to the files of results. 0 or -errno. */
static int experiment_write_rows(const struct experiment *experiment)
{
	_cleanup_json_ json_t *rows = NULL;
	int r = rows_load(experiment->options->dir, &rows);

	return r < 0 ? r : rows_write(experiment->options->dir, rows, experiment->options->csv);
}

static int experiment_lock_and_run_cells(struct experiment *experiment)
{
	const struct experiment_options *options = experiment->options;
	_cleanup_close_ int lock = -1;
	int r;

	experiment->job = calloc(options->jobs, sizeof(*experiment->job));
	experiment->cells = cells_create(&experiment->plan, &experiment->cell_count);
	if (!experiment->job || !experiment->cells || !results_make_dir(options->dir, "") ||
	    !results_make_dir(options->dir, RESULTS_CELLS_DIR) || !results_make_dir(options->dir, RESULTS_RUNNING_DIR))
		return CLI_EXIT_ERROR;
	lock = results_lock_shard(options);
	if (lock < 0)
		return CLI_EXIT_ERROR;
	experiment->wanted = experiment_count_cells_to_run(experiment);
	experiment->shows_progress = !options->quiet && isatty(STDERR_FILENO);
	experiment_run_cells(experiment);
	r = experiment_write_rows(experiment);
	if (!options->quiet)
		(void)text_printf(stdout,
				  "%zu cells: %zu run, %zu failed, %zu were there already or are of other shards\n",
				  experiment->cell_count, experiment->finished, experiment->failed,
				  experiment->cell_count - experiment->wanted);
	return r < 0 || experiment->failed > 0 || experiment->stopped ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}

int experiment_run_plan(const struct experiment_options *options)
{
	struct experiment experiment = {.options = options};
	int status = CLI_EXIT_ERROR;

	if (plan_load(options->plan, &experiment.plan) == 0) {
		if (chdir(experiment.plan.dir) == 0)
			status = experiment_lock_and_run_cells(&experiment);
		else
			cli_print_error("experiment", "%s: %s", experiment.plan.dir, strerror(errno));
	}
	free(experiment.cells);
	free(experiment.job);
	plan_release(&experiment.plan);
	return status;
}
