/* callgate key: makes a pair of keys that sign logs and attestations. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/signing.h"
#include "base/text.h"
#include "cli/options.h"

/* Writes a new file. 0 or -errno; on failure there is no file. */
static int key_write_file(const char *path, mode_t mode, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
	int r = fd < 0 ? -errno : io_write_all(fd, text, strlen(text));

	if (r == 0 && fsync(fd) < 0 && errno != EINVAL)
		r = -errno;
	if (r < 0 && fd >= 0)
		(void)unlink(path);
	return r;
}

static int key_fail(const char *path, int error)
{
	cli_print_error("key", "%s: %s", path,
			error == -EEXIST ? "it exists; name another file, or remove it if nothing is signed with it"
					 : strerror(-error));
	return CLI_EXIT_ERROR;
}

/* Makes a signing key: writes the private one to `path`, and the public one beside it. Returns the exit status. */
static int key_make_files(const char *path)
{
	_cleanup_free_ char *public_path = text_format("%s.pub", path);
	char private[SIGNING_PEM_BYTES], public[SIGNING_PEM_BYTES];
	struct signing_key key;
	int r, written = 0;

	if (!public_path)
		return cli_fail_no_memory("key");
	r = signing_make_key(&key);
	if (r < 0)
		return key_fail(path, r);
	signing_write_private(&key, private);
	signing_write_public(key.public, public);
	r = key_write_file(path, 0600, private);
	if (r == 0)
		written = key_write_file(public_path, 0644, public);
	signing_wipe_key(&key);
	explicit_bzero(private, sizeof(private));
	if (r < 0)
		return key_fail(path, r);
	if (written == 0)
		return CLI_EXIT_OK;
	(void)unlink(path);
	return key_fail(public_path, written);
}

int cli_main_key(int argc, char **argv)
{
	static const struct cli_option table[] = {{0}};
	const struct cli_syntax syntax = {
		.verb = "key",
		.usage = "Usage: callgate key new FILE\n\n"
			 "Makes a pair of Ed25519 keys: FILE, which only its owner may read, for --sign-key, and\n"
			 "FILE.pub for those who verify. Keep FILE where no policy grants anything.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, NULL}},
	};
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (argc - optind == 2 && strcmp(argv[optind], "new") == 0)
		return key_make_files(argv[optind + 1]);
	cli_print_error("key", argc - optind < 2 ? "name a file: callgate key new FILE" : "say: callgate key new FILE");
	return cli_fail_usage("key");
}
