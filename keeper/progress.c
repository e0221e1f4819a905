#include "keeper/progress.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc/stat.h"
#include "base/proc/tree.h"
#include "keeper/result.h"

#define STATUS_LINE_FIRST_AFTER_NS UINT64_C(2000000000) /* a shorter run shows no status line */
#define STATUS_LINE_INTERVAL_NS UINT64_C(500000000)     /* how often the status line is updated */
#define TERMINAL_CLEAR_LINE "\r\033[K"                  /* to the first column, and erase to the end of the line */
#define PROGRESS_MEASURED_PROCESSES_MAX 4096u /* most processes whose memory is added up */

void progress_start(struct keeper *keeper)
{
	const struct keeper_options *options = keeper->options;

	keeper->progress =
		(struct progress){.line_ns = UINT64_MAX, .json_ns = UINT64_MAX, .output_ends_with_newline = true};
	if (options->shows_status_line)
		keeper->progress.line_ns = keeper->start_ns + STATUS_LINE_FIRST_AFTER_NS;
	if (options->status_fd >= 0 && options->status_every_ns)
		keeper->progress.json_ns = keeper->start_ns + options->status_every_ns;
}

uint64_t progress_get_next_ns(const struct keeper *keeper)
{
	const struct progress *progress = &keeper->progress;

	return progress->line_ns < progress->json_ns ? progress->line_ns : progress->json_ns;
}

/*
 * Adds up the resident memory of the supervisor's descendants, which are the program's processes. Pages that they share
 * count for each: the status must not cost what an exact measurement does. Returns how many processes there are.
 */
static size_t progress_measure_memory(const struct keeper *keeper, uint64_t *ret_bytes)
{
	pid_t pids[PROGRESS_MEASURED_PROCESSES_MAX];
	size_t count = proctree_list_descendants(keeper->supervisor_pid, pids, PROGRESS_MEASURED_PROCESSES_MAX);
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct procstat stat;

	*ret_bytes = 0;
	for (size_t i = 0; i < count && i < PROGRESS_MEASURED_PROCESSES_MAX; i++)
		if (procstat_read(pids[i], &stat) == 0)
			*ret_bytes += stat.rss_pages * page;
	return count;
}

/* The line is short, so that it does not wrap and can be cleared. */
static void progress_show_status_line(struct keeper *keeper, uint64_t now_ns)
{
	const struct run_shared_page *counters = keeper->shared_page;
	char text[160], network[48] = "";
	uint64_t bytes;
	int len;

	if (!keeper->progress.output_ends_with_newline)
		return;
	(void)progress_measure_memory(keeper, &bytes);
	if (counters->open_connections || counters->network_denied)
		(void)snprintf(network, sizeof(network), ", net %" PRIu64 " open", counters->open_connections);
	len = snprintf(text, sizeof(text),
		       TERMINAL_CLEAR_LINE "callgate: %" PRIu64 " s, %" PRIu64 "M, %" PRIu64 " calls judged, %" PRIu64
		       " denied%s",
		       (now_ns - keeper->start_ns) / 1000000000, bytes >> 20, counters->judged,
		       counters->denied + counters->network_denied, network);
	keeper->progress.line_is_shown = write(STDERR_FILENO, text, (size_t)len) > 0;
}

/* A reader that does not keep up misses lines: the keeper must not wait for it. */
static void progress_write_json(struct keeper *keeper, uint64_t now_ns)
{
	struct pollfd reader = {.fd = keeper->options->status_fd, .events = POLLOUT};
	const struct run_shared_page *counters = keeper->shared_page;
	struct result_progress progress = {
		.run_id = keeper->options->scratch->id,
		.duration_ms = (now_ns - keeper->start_ns) / 1000000,
		.judged = counters->judged,
		.denied = counters->denied,
		.connection_count = counters->open_connections,
		.network_denied_count = counters->network_denied,
	};

	if (poll(&reader, 1, 0) <= 0 || !(reader.revents & POLLOUT))
		return;
	progress.processes = progress_measure_memory(keeper, &progress.memory_bytes);
	if (result_write_progress_line(keeper->options->status_fd, &progress) < 0)
		keeper->progress.json_ns = UINT64_MAX; /* the reader is gone, which the last line will report */
}

void progress_report_due(struct keeper *keeper, uint64_t now_ns)
{
	struct progress *progress = &keeper->progress;

	if (now_ns >= progress->line_ns) {
		progress->line_ns = now_ns + STATUS_LINE_INTERVAL_NS;
		progress_show_status_line(keeper, now_ns);
	}
	if (now_ns >= progress->json_ns) {
		progress->json_ns = now_ns + keeper->options->status_every_ns;
		progress_write_json(keeper, now_ns);
	}
}

void progress_clear_status_line(struct keeper *keeper)
{
	if (keeper->progress.line_is_shown)
		/* EIO: the terminal hung up */
		(void)!write(STDERR_FILENO, TERMINAL_CLEAR_LINE, sizeof(TERMINAL_CLEAR_LINE) - 1);
	keeper->progress.line_is_shown = false;
}

void progress_note_output(struct keeper *keeper, const struct capture *capture, size_t pending_before)
{
	const bool err = capture == &keeper->outcome->err;

	if (capture->pending_at > pending_before && (err || keeper->options->stdout_is_terminal_too))
		keeper->progress.output_ends_with_newline = capture->bytes_to_forward[capture->pending_at - 1] == '\n';
}
