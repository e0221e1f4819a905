#include "cli/audit/time.h"

#include <stdbool.h>

/* Reads a number of fixed width. *valid becomes false if there is another byte than a digit. */
static unsigned time_read_digits(const char *text, size_t digits, bool *valid)
{
	unsigned value = 0;

	for (size_t i = 0; i < digits; i++) {
		*valid = *valid && text[i] >= '0' && text[i] <= '9';
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	return value;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, year >= 1970. */
static uint64_t time_count_days(unsigned year, unsigned month, unsigned day)
{
	/* the year begins in March, so that a leap day is its last day */
	unsigned from_march = (month + 9) % 12, years = year - (month <= 2);

	return 365ull * years + years / 4 - years / 100 + years / 400 + (from_march * 153 + 2) / 5 + day - 1 - 719468;
}

uint64_t audit_parse_time(const char *text, size_t len)
{
	static const char shape[] = "0000-00-00T00:00:00.000000000Z";
	bool valid = len == sizeof(shape) - 1;
	unsigned year, month, day, seconds;

	for (size_t i = 0; valid && i < len; i++)
		valid = shape[i] == '0' || shape[i] == text[i];
	if (!valid)
		return 0;
	year = time_read_digits(text, 4, &valid);
	month = time_read_digits(text + 5, 2, &valid);
	day = time_read_digits(text + 8, 2, &valid);
	seconds = time_read_digits(text + 11, 2, &valid) * 3600 + time_read_digits(text + 14, 2, &valid) * 60 +
		  time_read_digits(text + 17, 2, &valid);
	if (!valid || year < 1970 || year > 2500 || month < 1 || month > 12 || day < 1 || day > 31)
		return 0;
	return (time_count_days(year, month, day) * 86400 + seconds) * 1000000000 +
	       time_read_digits(text + 20, 9, &valid);
}
