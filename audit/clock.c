#include <string.h>
#include <time.h>

#include "audit/clock.h"
#include "audit/put.h"
#include "base/times.h"

#define CLOCK_SECOND_NS ((int64_t)NS_PER_S) /* signed, as tv_sec is */

static int64_t clock_read_ns(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now); /* clock_gettime(2) cannot fail for the clocks used here */
	return (int64_t)now.tv_sec * CLOCK_SECOND_NS + now.tv_nsec;
}

static void clock_put_digits(char *out, unsigned count, int64_t value)
{
	while (count-- > 0) {
		out[count] = (char)('0' + value % 10);
		value /= 10;
	}
}

/*
 * Writes the date of the day that is `day` days after 1970-01-01, in the proleptic Gregorian calendar. The calculation
 * counts periods of 400 years from 1 March of the year 0. gmtime_r(3) may read the file of the time zone.
 */
static void clock_put_date(char *out, int64_t day)
{
	int64_t shifted = day + 719468, era = shifted / 146097, in_era = shifted % 146097;
	int64_t year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t march_month = (5 * in_year + 2) / 153;
	int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;

	clock_put_digits(out, 4, year_of_era + era * 400 + (month <= 2));
	clock_put_digits(out + 5, 2, month);
	clock_put_digits(out + 8, 2, in_year - (153 * march_month + 2) / 5 + 1);
}

/* Writes the text of this second, to which nanoseconds are added for each record. */
static void clock_set_second(struct audit_clock *clock, int64_t second)
{
	int64_t in_day = second % 86400;

	memcpy(clock->text, "0000-00-00T00:00:00.000000000Z", AUDIT_TIMESTAMP_LEN);
	clock_put_date(clock->text, second / 86400);
	clock_put_digits(clock->text + 11, 2, in_day / 3600);
	clock_put_digits(clock->text + 14, 2, in_day / 60 % 60);
	clock_put_digits(clock->text + 17, 2, in_day % 60);
	clock->text_second = second;
}

uint64_t audit_clock_read(struct audit_clock *clock, const char **ret_time)
{
	int64_t mono = clock_read_ns(CLOCK_MONOTONIC), wall = mono + clock->wall_offset_ns;

	if (wall / CLOCK_SECOND_NS != clock->text_second) {
		clock->wall_offset_ns = clock_read_ns(CLOCK_REALTIME) - mono;
		wall = mono + clock->wall_offset_ns;
		if (wall < 0) /* the clock of the machine is set to a time before 1970 */
			wall = 0;
		clock_set_second(clock, wall / CLOCK_SECOND_NS);
	}
	(void)put_8_digits(clock->text + 20, (uint32_t)(wall % CLOCK_SECOND_NS / 10));
	clock->text[28] = (char)('0' + wall % 10);
	*ret_time = clock->text;
	return (uint64_t)mono;
}
