#include "supervisor/limits/limits.h"

#include <stddef.h>
#include <string.h>

#include "base/times.h"

static const struct {
	const char *name;
	size_t offset; /* offset of the limit in struct policy_limits */
} kinds[] = {
	[LIMIT_CPU] = {"cpu", offsetof(struct policy_limits, cpu_ns)},
	[LIMIT_MEMORY] = {"memory", offsetof(struct policy_limits, memory_bytes)},
	[LIMIT_PIDS] = {"pids", offsetof(struct policy_limits, pids)},
	[LIMIT_OPEN_FILES] = {"open_files", offsetof(struct policy_limits, open_files)},
	[LIMIT_FILE_SIZE] = {"file_size", offsetof(struct policy_limits, file_size_bytes)},
	[LIMIT_DISK] = {"disk", offsetof(struct policy_limits, disk_bytes)},
	[LIMIT_AUDIT] = {"audit", offsetof(struct policy_limits, audit_log_bytes)},
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == LIMIT_MAX, "each kind has a name and a limit");

const char *limit_get_name(enum limit_kind kind)
{
	return kinds[kind].name;
}

void limits_meters_init(struct limit_meter *meters, const struct policy_limits *policy)
{
	for (enum limit_kind kind = 0; kind < LIMIT_MAX; kind++) {
		meters[kind] = (struct limit_meter){0};
		memcpy(&meters[kind].limit, (const char *)policy + kinds[kind].offset, sizeof(meters[kind].limit));
	}
}

static json_t *limits_make_number_json(bool known, uint64_t value)
{
	return known ? json_integer((json_int_t)value) : json_null();
}

json_t *limits_make_json(const struct limit_meter *meters)
{
	json_t *object = json_object();

	for (enum limit_kind kind = 0; kind < LIMIT_MAX; kind++) {
		const struct limit_meter *meter = &meters[kind];
		uint64_t unit = kind == LIMIT_CPU ? NS_PER_MS : 1;

		(void)json_object_set_new(
			object, limit_get_name(kind),
			json_pack("{s:o, s:o, s:o, s:b}", "limit",
				  limits_make_number_json(meter->limit > 0, meter->limit / unit), "used",
				  limits_make_number_json(meter->is_measured, meter->used / unit), "peak",
				  limits_make_number_json(meter->is_measured, meter->peak / unit), "hit",
				  (int)meter->hit));
	}
	return object;
}
