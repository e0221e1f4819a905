#include "cli/experiment/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "cli/load.h"

/* Order of fts_open(3): by name. */
static int digest_compare_names(const FTSENT **entry, const FTSENT **other)
{
	return strcmp((*entry)->fts_name, (*other)->fts_name);
}

static int digest_hash_file(const char *path, char ret_hex[SHA256_HEX_SIZE])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint64_t bytes;

	return fd < 0 ? -errno : sha256_hash_fd(fd, ret_hex, &bytes);
}

/* Adds the line of one file, directory or link. 0 or -errno. */
static int digest_add_line_of_file(struct buf *out, const FTSENT *entry, size_t root_len)
{
	const char *name = entry->fts_path + root_len;
	char hex[SHA256_HEX_SIZE] = "", target[PATH_MAX];
	ssize_t len;
	int r;

	switch (entry->fts_info) {
	case FTS_DP:
		/* skips the second visit of a directory, after its contents: the first visit, FTS_D, has added it */
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return -entry->fts_errno;
	case FTS_F:
		r = digest_hash_file(entry->fts_accpath, hex);
		if (r < 0)
			return r;
		break;
	case FTS_SL:
	case FTS_SLNONE:
		len = readlink(entry->fts_accpath, target, sizeof(target));
		if (len < 0)
			return -errno;
		sha256_hash_bytes(target, (size_t)len, hex);
		break;
	default:
		break;
	}
	buf_printf(out, "%o %s ", entry->fts_statp->st_mode, hex);
	buf_add(out, name, strlen(name) + 1);
	return 0;
}

int digest_add_tree(struct buf *out, const char *path)
{
	_cleanup_free_ char *root = strdup(path);
	char *roots[] = {root, NULL};
	FTS *tree = root ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, digest_compare_names) : NULL;
	const FTSENT *entry;
	int r = tree ? 0 : -errno;

	while (r == 0 && (errno = 0, entry = fts_read(tree))) {
		r = digest_add_line_of_file(out, entry, strlen(path));
		if (r < 0)
			cli_print_error("experiment", "%s: %s", entry->fts_path, strerror(-r));
	}
	if (r == 0 && errno != 0)
		r = -errno;
	if (tree)
		(void)fts_close(tree);
	return r;
}

int digest_add_policy(struct buf *out, const struct cli_list *options)
{
	_cleanup_policy_options_ struct cli_policy_options parsed = {0};
	_cleanup_host_ struct cli_host host = {0};
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_free_ char **argv = calloc(options->count + 2, sizeof(*argv)), *text = NULL;
	static char verb[] = "experiment";
	const struct cli_syntax syntax = {
		.verb = verb, .usage = "", .table = {{NULL, cli_get_policy_table(), &parsed}}};

	if (!argv)
		return -ENOMEM;
	argv[0] = verb;
	for (size_t i = 0; i < options->count; i++)
		argv[i + 1] = options->item[i];
	optind = 0; /* resets getopt_long(3) */
	if (cli_parse_options((int)options->count + 1, argv, &syntax) != CLI_OPTIONS_PARSED)
		return -EINVAL;
	if (optind <= (int)options->count) {
		cli_print_error(verb, "%s: \"options\" of a policy takes options of callgate run", argv[optind]);
		return -EINVAL;
	}
	if (cli_load_policy_without_run(&parsed, verb, NULL, &host, &policy) != CLI_EXIT_OK)
		return -EINVAL;
	text = policy_make_json(policy);
	if (!text)
		return -ENOMEM;
	buf_puts(out, text);
	return 0;
}
