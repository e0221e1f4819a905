/*
 * Measures the resources that the run uses: by control groups if the keeper could make them, else by sampling the
 * processes. A limit that is hit ends the run (cpu, memory, disk), or makes calls fail natively (pids: EAGAIN,
 * open_files: EMFILE) and is reported in the result. Called by the loop in the supervisor thread.
 */
#ifndef CALLGATE_SUPERVISOR_LIMITS_LIMITS_H
#define CALLGATE_SUPERVISOR_LIMITS_LIMITS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/policy.h"

enum limit_kind {
	LIMIT_CPU,        /* nanoseconds of user and system time */
	LIMIT_MEMORY,     /* bytes */
	LIMIT_PIDS,       /* tasks: processes and threads */
	LIMIT_OPEN_FILES, /* descriptors of one process */
	LIMIT_FILE_SIZE,  /* bytes of one file */
	LIMIT_DISK,       /* bytes */
	LIMIT_AUDIT,      /* bytes of the log */
	LIMIT_MAX,        /* the number of limits; also: no limit */
};

/* One limit of a run and its use. */
struct limit_meter {
	uint64_t limit; /* 0: no limit */
	uint64_t used;  /* the use when last measured */
	uint64_t peak;  /* the highest use so far */
	bool is_measured; /* false: used and peak are not measured */
	bool hit;
	bool exceeding_ends_run;      /* the limit was hit and ends the run */
};

struct cgroup;
struct sandbox;
struct limits;

/*
 * Borrows the cgroup, and the sandbox, which has the modules that count forks, memfds and disk use. cgroup NULL: memory
 * and cpu are sampled. To be called by the supervisor, because the run's processes are its descendants. 0 or -ENOMEM.
 */
int limits_create(const struct sandbox *sandbox, struct cgroup *cgroup, struct limits **ret_limits);
void limits_free(struct limits *limits);

/* Measures what is due. Returns the limit that ended the run, from then on, or LIMIT_MAX. Cheap if nothing is due. */
enum limit_kind limits_measure_due(struct limits *limits, uint64_t now_ns);

/* Milliseconds until the next measurement is due; -1: nothing is sampled. */
int limits_get_ms_to_measurement(const struct limits *limits, uint64_t now_ns);

/* A descriptor that becomes readable at an OOM kill; -1: none. */
int limits_get_oom_fd(const struct limits *limits);
/* Reads the event of an OOM kill, and the control group. */
void limits_read_oom_event(struct limits *limits);

/*
 * Makes the last measurement before the rest of the process tree is killed. wait_status: the program's; 0: not reaped.
 * no_process_is_left: no process of the run is left. Returns what limits_measure_due() does.
 */
enum limit_kind limits_measure_before_final_kill(struct limits *limits, int wait_status, bool no_process_is_left);

/* Takes the final sample of disk use and log size, after the process tree was killed. */
void limits_measure_final(struct limits *limits);

/* Initialises LIMIT_MAX meters with the limits only. */
void limits_meters_init(struct limit_meter *meters, const struct policy_limits *policy);

/* The memory that the run uses now; where memory is sampled, at the last sample. */
uint64_t limits_read_memory_bytes(void *limits);
/* Processor time of the run so far. Takes a sample, where neither a control group nor a limit measures it. */
uint64_t limits_read_cpu_ns(void *limits);

/* Calls limits_measure_due(). True: a limit has ended the run. For a function pointer in struct sandbox. */
bool limits_have_ended_run(void *limits);

/* The array of LIMIT_MAX meters, borrowed. */
struct limit_meter *limits_get_meters(struct limits *limits);

/* The name in the policy and the result: "cpu", "memory", … Static. */
const char *limit_get_name(enum limit_kind kind);

/*
 * {NAME: {"limit", "used", "peak", "hit"}} of LIMIT_MAX meters, owned; cpu in milliseconds; null: no limit, or unknown.
 */
json_t *limits_make_json(const struct limit_meter *meters);

#endif
