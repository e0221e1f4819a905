#include "cli/ws/hunks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"

#define HUNKS_TEXT_BYTES_MAX (6ull * HUNKS_FILE_BYTES_MAX) /* most bytes that are taken of diff(1) */
#define HUNKS_MEMORY_BYTES_MAX (1ull << 30)                /* address space of diff(1) */
#define HUNKS_CPU_S_MAX 20                                 /* CPU time of diff(1) */
#define HUNKS_FIRST_FD 10 /* descriptors of the two files in diff(1), and the numbers above which ours are */

/* ---- the two texts ---- */

/* Copies the target of a link. 0 or -errno. */
static int hunks_copy_target(int link_fd, int copy_fd)
{
	char target[PATH_MAX];
	const ssize_t len = readlinkat(link_fd, "", target, sizeof(target));

	return len < 0 ? -errno : io_write_all(copy_fd, target, (size_t)len);
}

/* Copies a file, or one byte more than is taken. 0 or -errno. */
static int hunks_copy_file(int path_fd, int copy_fd)
{
	_cleanup_close_ int fd = workspace_open_content(path_fd);
	uint64_t copied;

	return fd < 0 ? fd : io_copy_bytes(fd, copy_fd, HUNKS_FILE_BYTES_MAX + 1, &copied);
}

/*
 * Copies the text of an entry into memory: diff(1) would set the access time of the file, and the file may change
 * meanwhile. *kind becomes what it is, unless it is text. A descriptor or -errno.
 */
static int hunks_open_text(int root_fd, const char *path, const struct workspace_entry *entry, enum hunks_kind *kind)
{
	_cleanup_close_ int at = -1, copy = memfd_create("text", MFD_CLOEXEC);
	int r;

	if (copy < 0)
		return -errno;
	if (!entry)
		return steal_fd(&copy);
	at = workspace_open_entry(root_fd, path);
	r = at;
	if (r >= 0)
		r = S_ISLNK(entry->mode) ? hunks_copy_target(at, copy) : hunks_copy_file(at, copy);
	if (r == 0)
		r = content_is_text(copy, HUNKS_FILE_BYTES_MAX);
	if (r < 0 && r != -ENOMEM) { /* the program may have taken the right to read from one file of many */
		*kind = HUNKS_UNREAD;
		r = 0;
	} else if (r == 0 && *kind != HUNKS_UNREAD)
		*kind = entry->size > HUNKS_FILE_BYTES_MAX ? HUNKS_LARGE : HUNKS_BINARY;
	return r < 0 ? r : steal_fd(&copy);
}

/* ---- diff(1) ---- */

/* Starts diff(1) with nothing but the two files and the pipe. 0 or -errno. */
static int hunks_start_diff(int old_fd, int new_fd, int out_fd, pid_t *ret_pid)
{
	char *const argv[] = {(char[]){"diff"},
			      (char[]){"-a"},
			      (char[]){"-u"},
			      (char[]){"/proc/self/fd/3"},
			      (char[]){"/proc/self/fd/4"},
			      NULL};
	char *const envp[] = {(char[]){"LC_ALL=C"}, NULL};
	static const char *const places[] = {"/usr/bin/diff", "/bin/diff"};
	posix_spawn_file_actions_t actions;
	int r;

	r = -posix_spawn_file_actions_init(&actions);
	if (r < 0)
		return r;
	r = -posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	if (r == 0)
		r = -posix_spawn_file_actions_adddup2(&actions, old_fd, 3);
	if (r == 0)
		r = -posix_spawn_file_actions_adddup2(&actions, new_fd, 4);
	if (r == 0)
		r = -posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < 2 && (i == 0 || r == -ENOENT); i++)
		r = r == 0 || i > 0 ? -posix_spawn(ret_pid, places[i], &actions, NULL, argv, envp) : r;
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
	return r;
}

/* Bounds what a hostile text can make diff(1) use. */
static void hunks_limit_diff(pid_t pid)
{
	const struct rlimit memory = {HUNKS_MEMORY_BYTES_MAX, HUNKS_MEMORY_BYTES_MAX};
	const struct rlimit cpu = {HUNKS_CPU_S_MAX, HUNKS_CPU_S_MAX};

	(void)prlimit(pid, RLIMIT_AS, &memory, NULL); /* fails when it has ended already */
	(void)prlimit(pid, RLIMIT_CPU, &cpu, NULL);
}

/* Runs diff(1), and sets *text, which was empty. 1: the texts differ; 0: they are equal; -EFBIG: it gave up; -errno. */
static int hunks_run_diff(int old_fd, int new_fd, struct buf *text)
{
	_cleanup_close_ int old = fcntl(old_fd, F_DUPFD_CLOEXEC, HUNKS_FIRST_FD);
	_cleanup_close_ int new = fcntl(new_fd, F_DUPFD_CLOEXEC, HUNKS_FIRST_FD);
	_cleanup_close_ int in = -1, out = -1;
	int fds[2], r, status = 0;
	char *output = NULL;
	pid_t pid = -1;
	size_t len;

	if (old < 0 || new < 0 || pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	in = fds[0];
	out = fcntl(fds[1], F_DUPFD_CLOEXEC, HUNKS_FIRST_FD);
	r = out < 0 ? -errno : hunks_start_diff(old, new, out, &pid);
	(void)close(fds[1]);
	if (r < 0)
		return r;
	hunks_limit_diff(pid);
	close_fd(&out);
	r = io_read_fd(in, HUNKS_TEXT_BYTES_MAX, &output, &len);
	if (r < 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	*text = (struct buf){.data = output, .len = len, .cap = len + 1};
	return WIFEXITED(status) && WEXITSTATUS(status) < 2 ? WEXITSTATUS(status) : -EFBIG;
}

/* ---- its output ---- */

/* Removes the two lines that name the files. */
static void hunks_drop_header(struct buf *text)
{
	size_t start = 0;

	for (int line = 0; line < 2; line++) {
		const char *end = memchr(text->data + start, '\n', text->len - start);

		start = end ? (size_t)(end - text->data) + 1 : text->len;
	}
	text->len -= start;
	memmove(text->data, text->data + start, text->len + 1); /* with the NUL */
}

/* Counts lines that were added and removed. */
static void hunks_count_lines(struct hunks *hunks)
{
	const char *at = hunks->text.data, *end = at + hunks->text.len;

	while (at && at < end) {
		hunks->added += *at == '+';
		hunks->removed += *at == '-';
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : end;
	}
}

/* ---- one text ---- */

/* Counts lines; the last one need not have an end. */
static size_t hunks_count_text_lines(const char *text, size_t len)
{
	size_t lines = 0;
	const char *at = text, *end = text + len;

	for (; at < end; lines++) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : end;
	}
	return lines;
}

/*
 * Makes of a text that is new (sign '+') or deleted ('-') what diff(1) would: a program can make 100,000 files, and a
 * process for each takes long.
 */
static void hunks_put_text(const char *text, size_t len, char sign, struct buf *out)
{
	const size_t lines = hunks_count_text_lines(text, len);
	char range[32] = "1";
	const char *end;

	if (lines > 1)
		(void)snprintf(range, sizeof(range), "1,%zu", lines);
	buf_reserve(out, len + lines + 64);
	buf_printf(out, "@@ -%s +%s @@\n", sign == '-' ? range : "0,0", sign == '+' ? range : "0,0");
	for (const char *at = text; at < text + len; at = end) {
		end = memchr(at, '\n', (size_t)(text + len - at));
		end = end ? end + 1 : text + len;
		buf_add(out, &sign, 1);
		buf_add(out, at, (size_t)(end - at));
	}
	if (text[len - 1] != '\n')
		buf_puts(out, "\n\\ No newline at end of file\n");
}

/* Makes the hunk of a text, of which there is no other state. 1, 0: there is no text; or -errno. */
static int hunks_make_half(int text_fd, char sign, struct buf *out)
{
	struct stat st;
	char *text;
	int r;

	if (fstat(text_fd, &st) < 0)
		return -errno;
	if (st.st_size == 0)
		return 0;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, text_fd,
		    0); /* our own copy, which does not change */
	if (text == MAP_FAILED)
		return -errno;
	hunks_put_text(text, (size_t)st.st_size, sign, out);
	r = out->failed ? -ENOMEM : 1;
	(void)munmap(text, (size_t)st.st_size);
	return r;
}

/* Makes the hunks of two texts. As hunks_run_diff(). */
static int hunks_make_text(int old_fd, int new_fd, struct buf *out)
{
	int r = hunks_run_diff(old_fd, new_fd, out);

	if (r == 1 && out->data)
		hunks_drop_header(out);
	return r;
}

int hunks_make(const struct workspace_layer *layer, const char *old_path, const struct workspace_entry *old,
	       const char *new_path, const struct workspace_entry *new, struct hunks *ret_hunks)
{
	struct hunks hunks = {.kind = HUNKS_TEXT};
	_cleanup_close_ int old_fd = hunks_open_text(layer->base_fd, old_path, old, &hunks.kind), new_fd = -1;
	int r;

	new_fd = old_fd < 0 ? old_fd : hunks_open_text(layer->upper_fd, new_path, new, &hunks.kind);
	if (new_fd < 0)
		return new_fd;
	if (hunks.kind != HUNKS_TEXT)
		r = 0;
	else if (!old || !new)
		r = hunks_make_half(old ? old_fd : new_fd, old ? '-' : '+', &hunks.text);
	else
		r = hunks_make_text(old_fd, new_fd, &hunks.text);
	if (r == 1 && hunks.text.data) {
		hunks_count_lines(&hunks);
	} else {
		buf_release(&hunks.text);
		hunks.text = (struct buf){0};
	}
	if (r == -EFBIG)
		hunks.kind = HUNKS_LARGE;
	else if (r < 0)
		return r;
	*ret_hunks = hunks;
	return 0;
}
