/* A small dispatcher for the tracer's tests: listener, approvals by rule of the test, waits. */
#ifndef CALLGATE_TESTS_TRACE_RIG_H
#define CALLGATE_TESTS_TRACE_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "syscalls/call/call.h"
#include "syscalls/exec/execve.h"

/* "/virt" of the program is this directory of the host; made by rig_setup, with what the tests run in it. */
struct rig {
	char dir[64];
	char self[256]; /* this test program, which plays the programs that are run */
	/* Falsifies a plan before its use; NULL: does not. */
	void (*tamper)(struct exec_plan *plan);
	bool memory_may_be_written; /* as if a process of the run had written another one's memory before */
	size_t calls, restarts, fetched;
	size_t pending; /* tracer_count_pending() after the end */
	size_t denials; /* kills that were recorded */
	int status;     /* of the target process */
	bool timed_out;
};

void rig_setup(struct rig *rig);
void rig_teardown(struct rig *rig);
/* A file below the directory. */
void rig_write(const struct rig *rig, const char *name, const char *text, unsigned mode);

/*
 * Runs guest under a filter that notifies execve, execveat, chdir and fchmod, with the tracer, until all processes are
 * gone.
 */
void rig_run(struct rig *rig, void (*guest)(void));

#endif
