/* A log that a test writes in a directory of its own, and reads back. */
#ifndef CALLGATE_TESTS_AUDIT_RIG_H
#define CALLGATE_TESTS_AUDIT_RIG_H

#include <check.h>
#include <jansson.h>
#include <stdint.h>

#include "audit/audit.h"
#include "audit/read.h"

/* The directory and the log, and the program's arguments in its header. */
extern char audit_rig_dir[], audit_rig_path[64];
extern const char *const audit_rig_argv[];

/* What a log begins with; a record of an openat(2) with a path; a new log; its end, with a trailer. */
struct audit_header audit_rig_header(void);

struct audit_record audit_rig_record(const char *text, size_t len);

struct audit *audit_rig_open(void);

void audit_rig_close(struct audit *audit);

/* Reads line `number` (from 0, the header) of the log; the caller decrefs. */
json_t *audit_rig_read_line(uint64_t number);

/* Every line parses and seq counts up from 0. Returns the number of lines. */
uint64_t audit_rig_check_whole(void);

/* Makes the directory, runs the suite, which it takes, and removes the directory. The exit status of the test. */
int audit_rig_run(Suite *suite);

#endif
