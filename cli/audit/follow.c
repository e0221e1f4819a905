#include "cli/audit/follow.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/io.h"

#define FOLLOW_CHECK_INTERVAL_NS 500000000u /* between two looks whether a followed log was replaced by a new file */
/* how long a log without a trailer may have no writer before following it ends: callgate may still write the trailer */
#define FOLLOW_WRITER_GONE_AFTER_NS 2000000000u

/*
 * Whether a process holds an flock(2) lock on the file, as the writer of a log does. The lock is not tried here,
 * because holding it would keep callgate from writing the trailer.
 */
static bool follow_is_locked(const struct stat *file)
{
	_cleanup_fclose_ FILE *locks = fopen("/proc/locks", "re");
	char line[256];

	while (locks && fgets(line, sizeof(line), locks)) {
		const char *kind = strstr(line, "FLOCK");
		unsigned major_number, minor_number;
		unsigned long inode;

		if (kind && sscanf(kind, "FLOCK %*s %*s %*d %x:%x:%lu", &major_number, &minor_number, &inode) == 3 &&
		    makedev(major_number, minor_number) == file->st_dev && inode == file->st_ino)
			return true;
	}
	return false;
}

bool follow_has_writer(int fd)
{
	struct stat file;

	return fstat(fd, &file) == 0 && follow_is_locked(&file);
}

/* Watches the writer's lock on the log: once it was seen and is gone for a while, the writer is gone. */
static void follow_watch_writer(struct follow_state *follow, const struct stat *file, uint64_t now)
{
	if (follow_is_locked(file)) {
		follow->writer_lock_was_seen = true;
		follow->unlocked_ns = 0;
	} else if (follow->writer_lock_was_seen && follow->unlocked_ns == 0) {
		follow->unlocked_ns = now;
	} else if (follow->writer_lock_was_seen && now - follow->unlocked_ns > FOLLOW_WRITER_GONE_AFTER_NS) {
		follow->writer_is_gone = true;
	}
}

struct audit_reader *follow_check_log(struct follow_state *follow, const char *path, int fd)
{
	uint64_t now = io_read_clock_ns();
	struct stat file, named;
	struct audit_reader *next;

	if (fstat(fd, &file) < 0 || now - follow->checked_ns < FOLLOW_CHECK_INTERVAL_NS)
		return NULL;
	follow->checked_ns = now;
	if (stat(path, &named) == 0 && S_ISREG(named.st_mode) && named.st_size > 0 &&
	    (named.st_ino != file.st_ino || named.st_dev != file.st_dev) && audit_reader_open(path, &next) == 0) {
		follow->writer_lock_was_seen = false;
		follow->unlocked_ns = 0;
		return next;
	}
	follow_watch_writer(follow, &file, now);
	return NULL;
}
