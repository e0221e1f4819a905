/* The table of the limits of a run: name, field, unit and range of each. */
#include "policy/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum limit_unit { UNIT_TIME, UNIT_SIZE, UNIT_COUNT };

/* A limit that a policy can set: its name, unit and range. */
struct limit_row {
	const char *name;
	enum limit_unit unit;
	size_t limits_offset; /* where its value is in struct policy_limits */
	bool may_be_none; /* the value "none" is allowed */
	uint64_t least, most;
	const char *least_text, *most_text; /* `least` and `most` as messages show them */
};

#define LIMIT_FIELD(name) offsetof(struct policy_limits, name) /* where the limit's value is kept */
#define LIMIT_NS_MAX ((uint64_t)INT64_MAX)
#define LIMIT_BYTES_MAX (UINT64_C(1) << 60)
/* last columns of a row: least and greatest time, in ns and as text */
#define LIMIT_ANY_TIME_RANGE 1, LIMIT_NS_MAX, "1ms", "2562047h"
/* last columns of a row: least and greatest size, in bytes and as text */
#define LIMIT_ANY_SIZE_RANGE 1, LIMIT_BYTES_MAX, "1", "1048576T"
#define LIMIT_SIZE_RANGE_FROM(least, text) least, LIMIT_BYTES_MAX, text, "1048576T" /* the same, with a least size */

/*
 * Below the minimum, the C library does not even start, or the measurement is too coarse. The maximum of pids is the
 * kernel's PID_MAX_LIMIT; that of open_files is the usual fs.nr_open.
 */
/* clang-format off */
static const struct limit_row rows[] = {
	[POLICY_LIMIT_WALL] = {"wall", UNIT_TIME, LIMIT_FIELD(wall_ns), true, LIMIT_ANY_TIME_RANGE},
	[POLICY_LIMIT_CPU] = {"cpu", UNIT_TIME, LIMIT_FIELD(cpu_ns), true, 10000000, LIMIT_NS_MAX, "10ms",
				   "2562047h"},
	[POLICY_LIMIT_MEMORY] = {"memory", UNIT_SIZE, LIMIT_FIELD(memory_bytes), true,
				  LIMIT_SIZE_RANGE_FROM(1 << 20, "1M")},
	[POLICY_LIMIT_PIDS] = {"pids", UNIT_COUNT, LIMIT_FIELD(pids), true, 1, 4194304, "1", "4194304"},
	[POLICY_LIMIT_OPEN_FILES] = {"open_files", UNIT_COUNT, LIMIT_FIELD(open_files), true, 8, 1048576, "8",
				     "1048576"},
	[POLICY_LIMIT_FILE_SIZE] = {"file_size", UNIT_SIZE, LIMIT_FIELD(file_size_bytes), true, LIMIT_ANY_SIZE_RANGE},
	[POLICY_LIMIT_DISK] = {"disk", UNIT_SIZE, LIMIT_FIELD(disk_bytes), true,
				LIMIT_SIZE_RANGE_FROM(64 << 10, "64K")},
	[POLICY_LIMIT_STDOUT] = {"stdout", UNIT_SIZE, LIMIT_FIELD(stdout_bytes), false, LIMIT_ANY_SIZE_RANGE},
	[POLICY_LIMIT_STDERR] = {"stderr", UNIT_SIZE, LIMIT_FIELD(stderr_bytes), false, LIMIT_ANY_SIZE_RANGE},
	[POLICY_LIMIT_AUDIT] = {"audit", UNIT_SIZE, LIMIT_FIELD(audit_log_bytes), true,
				LIMIT_SIZE_RANGE_FROM(64 << 10, "64K")},
};
/* clang-format on */
_Static_assert(sizeof(rows) / sizeof(rows[0]) == POLICY_LIMIT_MAX, "a row for each limit");

const char *policy_limit_get_name(enum policy_limit which)
{
	return rows[which].name;
}

bool policy_limit_is_time(enum policy_limit which)
{
	return rows[which].unit == UNIT_TIME;
}

uint64_t *policy_limit_get_field(struct policy_limits *limits, enum policy_limit which)
{
	return (uint64_t *)(void *)((char *)limits + rows[which].limits_offset);
}

/* Says in a message what values the limit may have. */
static const char *limit_get_expected_text(const struct limit_row *row)
{
	static const char *const words[][2] = {
		[UNIT_TIME] = {"a time such as \"10s\" or \"2m\"", "a time such as \"10s\", \"2m\" or \"none\""},
		[UNIT_SIZE] = {"a size such as \"64K\" or \"1M\"", "a size such as \"64K\", \"1G\" or \"none\""},
		[UNIT_COUNT] = {"a number such as 64", "a number such as 64, or \"none\""},
	};

	return words[row->unit][row->may_be_none];
}

/* Parses the value of a limit. 0, or -EINVAL. */
static int limit_parse_value(const struct limit_row *row, const char *text, uint64_t *ret_value)
{
	int r;

	if (row->unit == UNIT_TIME)
		r = text_parse_duration(text, ret_value);
	else if (row->unit == UNIT_SIZE)
		r = text_parse_size(text, ret_value);
	else
		r = text_parse_number(text, 0, UINT64_MAX, ret_value);
	return r;
}

int policy_limit_parse_value(enum policy_limit which, const char *text, uint64_t *ret_value, char *why, size_t cap)
{
	static const char *const nouns[] = {[UNIT_TIME] = "time", [UNIT_SIZE] = "size", [UNIT_COUNT] = "number"};
	const struct limit_row *row = &rows[which];
	uint64_t value = 0;

	if (row->may_be_none && strcmp(text, "none") == 0) {
		*ret_value = 0;
		return 0;
	}
	if (limit_parse_value(row, text, &value) < 0) {
		(void)snprintf(why, cap, "is no %s; write %s", nouns[row->unit], limit_get_expected_text(row));
		return -EINVAL;
	}
	if (value < row->least || value > row->most) {
		(void)snprintf(why, cap, "is out of range; write a %s from %s to %s%s", nouns[row->unit],
			       row->least_text, row->most_text, row->may_be_none ? ", or \"none\"" : "");
		return -EINVAL;
	}
	*ret_value = value;
	return 0;
}
