#include "cli/audit/histogram.h"

#define BUCKETS_PER_POWER_OF_2_BITS 5u /* binary logarithm of HISTOGRAM_BUCKETS_PER_POWER_OF_2 */

_Static_assert(HISTOGRAM_BUCKETS_PER_POWER_OF_2 == 1u << BUCKETS_PER_POWER_OF_2_BITS, "the bits of a part");

/* The histogram's bucket for a value: each power of 2 has the same number of buckets. */
static unsigned histogram_find_bucket(uint64_t value)
{
	unsigned shift;

	if (value < HISTOGRAM_BUCKETS_PER_POWER_OF_2)
		return (unsigned)value;
	shift = 63u - (unsigned)__builtin_clzll(value) - BUCKETS_PER_POWER_OF_2_BITS;
	return (shift + 1) * HISTOGRAM_BUCKETS_PER_POWER_OF_2 +
	       (unsigned)((value >> shift) - HISTOGRAM_BUCKETS_PER_POWER_OF_2);
}

/* Returns the largest value that belongs to a bucket. */
static uint64_t histogram_get_bucket_end(unsigned bucket)
{
	unsigned shift = bucket / HISTOGRAM_BUCKETS_PER_POWER_OF_2;

	if (shift == 0)
		return bucket;
	shift--;
	return ((uint64_t)(bucket % HISTOGRAM_BUCKETS_PER_POWER_OF_2 + HISTOGRAM_BUCKETS_PER_POWER_OF_2 + 1) << shift) -
	       1;
}

/* Counts a value in its bucket, and in count, total and maximum. */
void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->bucket_counts[histogram_find_bucket(value)]++;
	histogram->count++;
	histogram->total += value;
	if (value > histogram->max)
		histogram->max = value;
}

uint64_t histogram_get_percentile(const struct histogram *histogram, unsigned permille)
{
	uint64_t rank = (uint64_t)(((unsigned __int128)histogram->count * permille + 999) / 1000), seen = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKET_COUNT; i++) {
		seen += histogram->bucket_counts[i];
		if (seen >= rank && seen > 0) {
			uint64_t end = histogram_get_bucket_end(i);

			return end < histogram->max ? end : histogram->max;
		}
	}
	return histogram->max;
}
