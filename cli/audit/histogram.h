/* A histogram of durations in constant memory. Percentiles are at most 1/HISTOGRAM_BUCKETS_PER_POWER_OF_2 too large. */
#ifndef CALLGATE_CLI_AUDIT_HISTOGRAM_H
#define CALLGATE_CLI_AUDIT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS_PER_POWER_OF_2 32u /* number of buckets from one power of two to the next */
#define HISTOGRAM_BUCKET_COUNT ((64 - 5 + 1) * HISTOGRAM_BUCKETS_PER_POWER_OF_2)

/* Zero-initialise. */
struct histogram {
	uint64_t count, total, max; /* exact */
	uint64_t bucket_counts[HISTOGRAM_BUCKET_COUNT]; /* values by their size: histogram_find_bucket() */
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* The smallest value that `permille` of 1,000 values do not exceed, or a little more; 0: no values. */
uint64_t histogram_get_percentile(const struct histogram *histogram, unsigned permille);

#endif
