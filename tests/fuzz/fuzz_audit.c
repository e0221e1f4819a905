/*
 * The reader of logs over any file: lines it gives are objects, texts come back by their length, and recovery leaves
 * either the file as it was or a log that ends with a trailer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/read.h"
#include "audit/scan.h"
#include "base/io.h"
#include "tests/fuzz/fuzz.h"

static void read_fields(const json_t *line)
{
	static const char *const keys[] = {"path", "path2", "exe", "rule", "run", "nothing"};
	size_t len;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		char *bytes = audit_line_get_bytes(line, keys[i], &len);

		promise(!bytes || bytes[len] == '\0');
		free(bytes);
	}
	for (int second = 0; second < 2; second++)
		free(audit_line_get_resolved_path(line, second, &len));
	(void)audit_line_get_tid(line);
	promise(audit_line_get_type(line) != NULL);
}

/* Where scan.h understands a line, it reads what jansson reads. */
static void scan_fields(const struct audit_line *line)
{
	struct scan_record record;
	char bytes[4096];
	char *expected;
	size_t len;
	int got;

	if (scan_parse_line_fast(line->text, line->len, &record) < 0 || !line->json)
		return;
	promise((json_int_t)record.seq == json_integer_value(json_object_get(line->json, "seq")));
	expected = audit_line_get_bytes(line->json, "path", &len);
	promise((expected != NULL) == (record.path[0].as_written.at != NULL));
	got = expected ? scan_copy_unescaped_bytes(&record.path[0].as_written, bytes, sizeof(bytes)) : -ENAMETOOLONG;
	promise(got == -ENAMETOOLONG || ((size_t)got == len && memcmp(bytes, expected, len) == 0));
	free(expected);
}

/* Returns how many lines parsed. Takes fd. */
static size_t read_all(int fd, char ret_last[16])
{
	struct audit_reader *reader;
	struct audit_line line;
	size_t parsed = 0;
	uint64_t end = 0;
	int r;

	promise(audit_reader_create(fd, &reader) == 0);
	while ((r = audit_reader_read_line(reader, &line)) == 1 || r == -EBADMSG) {
		promise(line.offset >= end);
		end = line.offset + line.len;
		promise((r == 1) == (line.json != NULL));
		scan_fields(&line);
		if (r < 0)
			continue;
		promise(memchr(line.text, '\n', line.len) == NULL && memchr(line.text, '\0', line.len) == NULL);
		read_fields(line.json);
		(void)snprintf(ret_last, 16, "%s", audit_line_get_type(line.json));
		parsed++;
	}
	promise(line.offset >= end);
	audit_reader_free(reader);
	return parsed;
}

static char dir[] = "/tmp/callgate-fuzz-audit-XXXXXX";
static char path[64];

static void remove_dir(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
}

/*
 * The file that is read: a real one with a name, because recovery follows no link; new each time, see ext4(5)
 * auto_da_alloc.
 */
static int input_file(const uint8_t *data, size_t size)
{
	int fd;

	if (!path[0]) {
		promise(mkdtemp(dir) && atexit(remove_dir) == 0);
		(void)snprintf(path, sizeof(path), "%s/log", dir);
	}
	(void)unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	promise(fd >= 0);
	promise(io_write_all(fd, data, size) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char last[16] = "";
	struct stat file;
	size_t parsed;
	int r;

	parsed = read_all(input_file(data, size), last);
	r = audit_recover_log(path, "killed");
	promise(r == 0 || r == -EBADMSG || r == -E2BIG);
	promise(stat(path, &file) == 0);
	promise(r == 0 || (size_t)file.st_size == size);
	if (r == 0) {
		bool ended = strcmp(last, "trailer") == 0;

		promise(read_all(open(path, O_RDONLY | O_CLOEXEC), last) == parsed + !ended);
		promise(strcmp(last, "trailer") == 0);
	}
	return 0;
}
