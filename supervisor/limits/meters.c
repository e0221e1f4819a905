#include "supervisor/limits/limits.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)

const char *limit_name(enum limit_kind kind)
{
	static const char *const names[LIMIT_MAX] = {
		[LIMIT_CPU] = "cpu",
		[LIMIT_MEMORY] = "memory",
		[LIMIT_PIDS] = "pids",
		[LIMIT_OPEN_FILES] = "open_files",
		[LIMIT_FILE_SIZE] = "file_size",
		[LIMIT_DISK] = "disk",
		[LIMIT_AUDIT] = "audit",
	};

	return names[kind];
}

void limits_meters_init(struct limit_meter *meters, const struct policy_limits *policy)
{
	const uint64_t limit[LIMIT_MAX] = {
		[LIMIT_CPU] = policy->cpu_ns,
		[LIMIT_MEMORY] = policy->memory_bytes,
		[LIMIT_PIDS] = policy->pids,
		[LIMIT_OPEN_FILES] = policy->open_files,
		[LIMIT_FILE_SIZE] = policy->file_size_bytes,
		[LIMIT_DISK] = policy->disk_bytes,
		[LIMIT_AUDIT] = policy->audit_bytes,
	};

	for (enum limit_kind kind = 0; kind < LIMIT_MAX; kind++)
		meters[kind] = (struct limit_meter){.limit = limit[kind]};
}

static json_t *limits_number(bool known, uint64_t value)
{
	return known ? json_integer((json_int_t)value) : json_null();
}

json_t *limits_json(const struct limit_meter *meters)
{
	json_t *object = json_object();

	for (enum limit_kind kind = 0; kind < LIMIT_MAX; kind++) {
		const struct limit_meter *meter = &meters[kind];
		uint64_t unit = kind == LIMIT_CPU ? NS_PER_MS : 1;

		(void)json_object_set_new(object, limit_name(kind),
					  json_pack("{s:o, s:o, s:o, s:b}", "limit",
						    limits_number(meter->limit > 0, meter->limit / unit), "used",
						    limits_number(meter->known, meter->used / unit), "peak",
						    limits_number(meter->known, meter->peak / unit), "hit",
						    (int)meter->hit));
	}
	return object;
}
