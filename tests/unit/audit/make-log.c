/*
 * Writes a log for tests/verify-random.py: make-log FILE SEED RECORDS ROTATE COMPACT. Some outcomes come late, some
 * from another thread, some never. RECORDS 0: without end, until it is killed. Otherwise the log is signed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/sign.h"

#define OPEN_MAX_SLOTS 200

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static struct audit *audit;
static struct audit_outcome_location open_slot[OPEN_MAX_SLOTS];
static size_t opened;

static void *end_in_thread(void *slot)
{
	audit_end_record(audit, *(struct audit_outcome_location *)slot, 5, 77);
	return NULL;
}

static void end_one(size_t at)
{
	struct audit_outcome_location slot = open_slot[at];
	pthread_t thread;

	open_slot[at] = open_slot[--opened];
	if (draw(40) == 0 && pthread_create(&thread, NULL, end_in_thread, &slot) == 0)
		(void)pthread_join(thread, NULL);
	else
		audit_end_record(audit, slot, draw(3) ? (int64_t)draw(100000) : -(int64_t)(1 + draw(120)), draw(10000));
}

static int write_record(void)
{
	static char path[4096];
	size_t len = 1 + draw(draw(20) ? 80 : 4000);
	struct audit_record record = {.pid = 2 + (pid_t)draw(3),
				      .ppid = 1,
				      .exe = draw(9) ? "/bin/true" : "/bin/sh",
				      .syscall = "openat",
				      .path = path,
				      .path_len = len,
				      .verdict = draw(4) ? VERDICT_ALLOW : VERDICT_DENY,
				      .effect = AUDIT_EFFECT_PERFORMED};
	struct audit_outcome_location slot;

	record.tid = record.pid;
	memset(path, 'a' + (int)draw(26), len);
	path[0] = '/';
	if (audit_begin_record(audit, &record, &slot) < 0)
		return -1;
	if (draw(10) > 0 || opened == OPEN_MAX_SLOTS) {
		audit_end_record(audit, slot, 3, draw(100000));
		return 0;
	}
	open_slot[opened++] = slot;
	if (draw(12) > 0 && opened > 3)
		end_one(draw(opened));
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const command[] = {"program", "argument", NULL};
	struct audit_header header = {.run_id = "0123456789abcdef",
				      .argv = command,
				      .policy_name = "test",
				      .policy_sha256 = "00",
				      .workdir = "/work",
				      .records_allowed_calls = true};
	const struct audit_trailer trailer = {.status = "ok", .exit_code = 0};
	struct signing_key key;
	struct signed_log_end end;
	uint64_t records;
	char last[4096];
	int fd;

	if (argc != 6 || signing_make_key(&key) < 0)
		return 2;
	seed = strtoull(argv[2], NULL, 10) * 7919 + 1;
	records = strtoull(argv[3], NULL, 10);
	header.key = key.public_text;
	header.rotate_bytes = strtoull(argv[4], NULL, 10);
	header.compact = argv[5][0] == '1';
	if (audit_open_log(argv[1], &header, &audit) < 0)
		return 3;
	for (uint64_t i = 0; records == 0 || i < records; i++)
		if (write_record() < 0)
			return 4;
	while (opened > 0 && draw(8) > 0)
		end_one(draw(opened));
	(void)snprintf(last, sizeof(last), "%s", audit_get_path(audit));
	if (audit_close(audit, &trailer) < 0)
		return 5;
	fd = open(last, O_RDWR | O_CLOEXEC);
	return sign_trailer(fd, &key, header.run_id, &end) < 0 ? 6 : 0;
}
