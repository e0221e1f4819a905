/*
 * What the run may use, measured while it runs: by control groups where the keeper could make them, else by sampling
 * the tree's processes. A limit that is hit either ends the run (cpu, memory, disk) or is felt by the program as
 * natively (pids: EAGAIN, open_files: EMFILE) and reported.
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
	LIMIT_MAX,        /* also: none of them */
};

struct limit_meter {
	uint64_t limit; /* 0: none */
	uint64_t used;  /* when last looked at */
	uint64_t peak;
	bool known;     /* false: nothing tells used and peak */
	bool hit;
	bool ends;      /* it was hit and the run is over */
};

struct audit;
struct cgroup;
struct disk;
struct forks;
struct memfds;

struct limits_options {
	const struct policy_limits *policy;
	struct cgroup *cgroup; /* borrowed; NULL: there are none, so memory and cpu are sampled */
	struct disk *disk;     /* borrowed; NULL: nothing is metered */
	const struct forks *forks;   /* borrowed; NULL: forks are not judged */
	struct memfds *memfds; /* borrowed; NULL: memfds are not counted */
	const struct audit *audit;             /* borrowed; NULL: no log is kept */
	bool inet;             /* there are internet sockets */
	const struct limit_events *notes;       /* borrowed: what handlers saw */
};

struct limits;

/* 0 with limits_free to be called, or -errno. root_pid: whose descendants the run's processes are (the supervisor). */
int limits_create(const struct limits_options *options, pid_t root_pid, struct limits **ret_limits);
void limits_free(struct limits *limits);

/*
 * Looks at what is due. Returns what ended the run, which then stays the answer, or LIMIT_MAX. Cheap when nothing is
 * due: to be called at each turn of the loop.
 */
enum limit_kind limits_tick(struct limits *limits, uint64_t now_ns);

/* Milliseconds until the next tick is due; -1: never, because nothing is sampled. */
int limits_wait_ms(const struct limits *limits, uint64_t now_ns);

/* A descriptor that becomes readable (EPOLLIN) when limits_tick has to look at once: an OOM; -1: there is none. */
int limits_event_fd(const struct limits *limits);
/* Takes the event off that descriptor and makes everything due. */
void limits_event(struct limits *limits);

/*
 * The program was reaped (wait_status; 0 when it was not): the last look, before the rest of its tree is killed; a run
 * that was told to end has lost most of it by then. alone: there is no tree. Returns as limits_tick does.
 */
enum limit_kind limits_end(struct limits *limits, int wait_status, bool alone);

/* Its tree is dead, too: what was written until then. */
void limits_settle(struct limits *limits);

/* LIMIT_MAX meters that know the limits and nothing else. */
void limits_meters_init(struct limit_meter *meters, const struct policy_limits *policy);

/* The memory the run uses at this moment, or, where that is only sampled, used when it was looked at last. */
uint64_t limits_memory_bytes(void *limits);

/* limits_tick for struct sandbox: true when a limit has ended the run. */
bool limits_over(void *limits);

/* LIMIT_MAX of them. Whoever meters a kind writes here. Lives as long as `limits`. */
struct limit_meter *limits_meters(struct limits *limits);

/* "cpu", "memory", …: as in the policy and the result. Static. */
const char *limit_name(enum limit_kind kind);

/*
 * {NAME: {"limit", "used", "peak", "hit"}} of LIMIT_MAX meters; cpu in milliseconds. null: none, or not known. Owned.
 */
json_t *limits_json(const struct limit_meter *meters);

#endif
