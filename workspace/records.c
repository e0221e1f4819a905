#include "workspace/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"
#include "view/copy/fill.h"

static int records_compare(const void *left, const void *right)
{
	const struct workspace_record *a = left, *b = right;

	return strcmp(a->path, b->path);
}

static int records_compare_inodes(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Parses the record at `at`, and moves it behind that. 0 or -errno. */
static int records_parse(const char *text, size_t len, size_t *at, struct workspace_record *ret_record)
{
	struct copy_record *kept = &ret_record->kept;

	*ret_record = (struct workspace_record){0};
	if (len - *at < sizeof(*kept))
		return -EBADMSG;
	memcpy(kept, text + *at, sizeof(*kept));
	*at += sizeof(*kept);
	if (len - *at <= kept->path_len || text[*at + kept->path_len] != '\0')
		return -EBADMSG;
	ret_record->path = text + *at;
	*at += kept->path_len + 1;
	return 0;
}

/* Parses all of them. The last one is that of the directory itself. */
static int records_parse_all(struct workspace_records *records, size_t len)
{
	struct workspace_record record = {.path = "?"};
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < len && *record.path) {
		r = records_parse(records->text, len, &at, &record);
		if (r < 0 || !*record.path)
			break;
		if (!array_reserve(&records->item, records->count, &records->room))
			return -ENOMEM;
		records->item[records->count++] = record;
	}
	if (r == 0 && (*record.path || at != len))
		r = -EBADMSG;
	records->must_compare_contents = record.kept.flags & COPY_MUST_COMPARE_CONTENTS;
	records->has_placeholders = record.kept.flags & COPY_HAS_PLACEHOLDERS;
	return r;
}

static int records_compare_fills(const void *left, const void *right)
{
	const struct fill_record *a = left, *b = right;

	return (a->inode > b->inode) - (a->inode < b->inode);
}

/*
 * Puts the time of each file that has got its content since into its record. One that was begun has not the time of its
 * record any more, so it counts as changed. 0 or -errno.
 */
static int records_apply_fills(struct workspace_records *records, int layer_fd)
{
	_cleanup_free_ struct fill_record *fill = NULL;
	size_t count = 0;
	int r = fills_read_records(layer_fd, &fill, &count);

	if (r < 0 || count == 0)
		return r;
	/* Several of one file differ only when two processes have filled it: then none of the times need be right. */
	qsort(fill, count, sizeof(*fill), records_compare_fills);
	for (size_t i = 0; i < records->count; i++) {
		struct copy_record *kept = &records->item[i].kept;
		const struct fill_record key = {.inode = kept->inode};
		const struct fill_record *found = bsearch(&key, fill, count, sizeof(*fill), records_compare_fills);

		if (found && S_ISREG(kept->mode)) {
			kept->ctime_sec = found->kept.sec;
			kept->ctime_nsec = (uint32_t)found->kept.nsec;
		}
	}
	return 0;
}

int workspace_records_load(int layer_fd, struct workspace_records *records)
{
	size_t len;
	int r = io_read_file(layer_fd, COPY_RECORDS_NAME, COPY_RECORDS_BYTES_MAX, &records->text, &len);

	if (r == 0)
		r = records_parse_all(records, len);
	if (r < 0 || records->count == 0)
		return r;
	records->inode = malloc(records->count * sizeof(*records->inode));
	if (!records->inode)
		return -ENOMEM;
	for (size_t i = 0; i < records->count; i++) {
		const struct copy_record *kept = &records->item[i].kept;
		const struct timespec ctime = {kept->ctime_sec, kept->ctime_nsec};

		records->inode[i] = kept->inode;
		if (times_compare(&ctime, &records->last_ctime) > 0)
			records->last_ctime = ctime;
	}
	qsort(records->inode, records->count, sizeof(*records->inode), records_compare_inodes);
	qsort(records->item, records->count, sizeof(*records->item), records_compare);
	return records_apply_fills(records, layer_fd);
}

void workspace_records_release(struct workspace_records *records)
{
	free(records->item);
	free(records->inode);
	free(records->text);
	*records = (struct workspace_records){0};
}

struct workspace_record *workspace_records_find(const struct workspace_records *records, const char *path)
{
	const struct workspace_record wanted = {.path = path};

	return records->count > 0
		       ? bsearch(&wanted, records->item, records->count, sizeof(*records->item), records_compare)
		       : NULL;
}

bool workspace_records_have_inode(const struct workspace_records *records, uint64_t inode)
{
	return records->count > 0 &&
	       bsearch(&inode, records->inode, records->count, sizeof(inode), records_compare_inodes);
}

bool workspace_records_have_file(const struct workspace_records *records, int fd)
{
	struct timespec born;
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, &stx) < 0)
		return true;
	if (S_ISDIR(stx.stx_mode) || !workspace_records_have_inode(records, stx.stx_ino))
		return false;
	born = (struct timespec){stx.stx_btime.tv_sec, stx.stx_btime.tv_nsec};
	return !(stx.stx_mask & STATX_BTIME) || times_compare(&born, &records->last_ctime) <= 0;
}

bool workspace_record_is_kept(const struct workspace_record *record, const struct stat *st)
{
	const struct copy_record *kept = &record->kept;

	return kept->inode == st->st_ino && kept->mode == st->st_mode && kept->ctime_sec == st->st_ctim.tv_sec &&
	       kept->ctime_nsec == (uint32_t)st->st_ctim.tv_nsec;
}
