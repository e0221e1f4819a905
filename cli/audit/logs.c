#include "cli/audit/logs.h"

#include <stdlib.h>
#include <time.h>

#include "cli/audit/source.h"
#include "cli/cli.h"

#define FOLLOW_POLL_INTERVAL_NS (100 * 1000 * 1000) /* pause before a followed log is read for new lines again */

/* Several logs that are read at once, in the order of their lines' times. */
struct log_merge {
	const struct audit_reading *reading;
	struct log_source *sources; /* owned */
	size_t source_count;
	/* owned: indices of the sources in state SOURCE_HAS_ENTRY, ordered as a heap with the earliest line first */
	size_t *source_heap;
	size_t heap_count;
};

/* Orders the heap of logs that are merged: by the time of each log's next entry, then by the order of the logs. */
static bool merge_source_is_before(const struct log_merge *merge, size_t a, size_t b)
{
	const struct log_source *one = &merge->sources[merge->source_heap[a]],
				*other = &merge->sources[merge->source_heap[b]];

	if (one->entry.time_ns != other->entry.time_ns)
		return one->entry.time_ns < other->entry.time_ns;
	return one->log.index < other->log.index;
}

static void merge_swap_sources(struct log_merge *merge, size_t a, size_t b)
{
	size_t index = merge->source_heap[a];

	merge->source_heap[a] = merge->source_heap[b];
	merge->source_heap[b] = index;
}

/* Adds a log to the heap, whose first one has the next entry. */
static void merge_push_source(struct log_merge *merge, size_t index)
{
	size_t at = merge->heap_count++;

	for (merge->source_heap[at] = index; at > 0 && merge_source_is_before(merge, at, (at - 1) / 2);
	     at = (at - 1) / 2)
		merge_swap_sources(merge, at, (at - 1) / 2);
}

/* Restores the heap's order after the first source has read another line. */
static void merge_sift_down_first_source(struct log_merge *merge)
{
	size_t at = 0, child;

	while ((child = 2 * at + 1) < merge->heap_count) {
		if (child + 1 < merge->heap_count && merge_source_is_before(merge, child + 1, child))
			child++;
		if (!merge_source_is_before(merge, child, at))
			return;
		merge_swap_sources(merge, at, child);
		at = child;
	}
}

/*
 * Passes the lines of all logs to `each` in order, until all lines that exist were read. False: `each` returned false.
 */
static bool merge_pass_lines_to_callback(struct log_merge *merge)
{
	while (merge->heap_count > 0) {
		struct log_source *source = &merge->sources[merge->source_heap[0]];

		if (!merge->reading->each(merge->reading->ctx, &source->entry))
			return false;
		source_read_next_entry(source);
		if (source->state != SOURCE_HAS_ENTRY)
			merge->source_heap[0] = merge->source_heap[--merge->heap_count];
		merge_sift_down_first_source(merge);
	}
	return true;
}

/* Waits for further lines. False: no line will be added, or `idle` returned false. */
static bool merge_wait_for_lines(struct log_merge *merge)
{
	const struct timespec pause = {.tv_nsec = FOLLOW_POLL_INTERVAL_NS};
	bool waiting = false;

	for (size_t i = 0; i < merge->source_count; i++)
		waiting = waiting || merge->sources[i].state == SOURCE_WAITING;
	if (!waiting || (merge->reading->idle && !merge->reading->idle(merge->reading->ctx)))
		return false;
	(void)nanosleep(&pause, NULL);
	for (size_t i = 0; i < merge->source_count; i++) {
		struct log_source *source = &merge->sources[i];

		if (source->state == SOURCE_WAITING)
			source_read_after_wait(source);
		else
			continue;
		if (source->state == SOURCE_HAS_ENTRY)
			merge_push_source(merge, i);
	}
	return true;
}

int audit_read_logs(const struct audit_reading *reading)
{
	struct log_merge merge = {.reading = reading};
	size_t count = 0;
	int status = CLI_EXIT_OK;

	while (reading->paths[count])
		count++;
	merge.sources = calloc(count + 1, sizeof(*merge.sources));
	merge.source_heap = calloc(count + 1, sizeof(*merge.source_heap));
	if (!merge.sources || !merge.source_heap) {
		free(merge.sources);
		free(merge.source_heap);
		return cli_fail_no_memory("audit");
	}
	for (; merge.source_count < count; merge.source_count++) {
		source_open(&merge.sources[merge.source_count], reading, merge.source_count);
		if (merge.sources[merge.source_count].state == SOURCE_HAS_ENTRY)
			merge_push_source(&merge, merge.source_count);
	}
	while (merge_pass_lines_to_callback(&merge) && merge_wait_for_lines(&merge))
		;
	for (size_t i = 0; i < merge.source_count; i++)
		if (source_close(&merge.sources[i]) != CLI_EXIT_OK)
			status = CLI_EXIT_ERROR;
	free(merge.sources);
	free(merge.source_heap);
	return status;
}
