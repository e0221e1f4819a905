/*
 * Runs a harness without libFuzzer: each file of its corpus as it is, cut at every length up to a page's worth, and in
 * many mutations that are the same in every run. fuzz_NAME reads $top_srcdir/tests/fuzz/corpus/NAME, or the files named
 * on the command line (to see a crash again).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_BYTES_MAX 65536
#ifndef MUTATIONS
#define MUTATIONS 1000 /* of each file */
#define CUT_STEP (cut < 256 ? 1 : 37)
#endif

static uint64_t state = 88172645463325252u;

static size_t below(size_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return limit ? (size_t)(state % limit) : 0;
}

/* Changes 1..4 places: a bit, a byte, an interesting word, a piece copied over another. */
static void mutate(uint8_t *data, size_t size)
{
	static const uint32_t words[] = {0, 1, 0x7f, 0x80, 0xff, 0x100, 0x1000, 0x7fffffff, 0x80000000, 0xffffffff};
	size_t at, from, len;

	for (size_t left = below(4) + 1; left > 0 && size > 0; left--) {
		at = below(size);
		switch (below(4)) {
		case 0:
			data[at] ^= (uint8_t)(1u << below(8));
			break;
		case 1:
			data[at] = (uint8_t)below(256);
			break;
		case 2:
			len = size - at < 4 ? size - at : 4;
			memcpy(data + at, &words[below(sizeof(words) / sizeof(words[0]))], len);
			break;
		default:
			from = below(size);
			len = below(size - (from > at ? from : at)) + 1;
			memmove(data + at, data + from, len);
			break;
		}
	}
}

/* The harness gets a block of exactly the input's size, so that ASan and valgrind see one byte past it. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	promise(exact != NULL);
	if (size)
		memcpy(exact, data, size);
	(void)LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static int replay(int dirfd, const char *name, bool mutations)
{
	_cleanup_free_ char *text = NULL;
	uint8_t copy[INPUT_BYTES_MAX];
	size_t size = 0;
	int err = io_read_file(dirfd, name, sizeof(copy), &text, &size);

	if (err < 0) {
		(void)fprintf(stderr, "replay: %s: %s\n", name, strerror(-err));
		return err;
	}
	run((const uint8_t *)text, size);
	if (!mutations)
		return 0;
	for (size_t cut = 0; cut < size && cut < 4096; cut += CUT_STEP)
		run((const uint8_t *)text, cut);
	for (int i = 0; i < MUTATIONS; i++) {
		memcpy(copy, text, size);
		mutate(copy, size);
		run(copy, size);
	}
	return 0;
}

static int replay_corpus(const char *program)
{
	const char *top = getenv("top_srcdir"), *name = strstr(program, "fuzz_");
	_cleanup_closedir_ DIR *corpus = NULL;
	const struct dirent *entry;
	char path[PATH_MAX];
	int passed = 0;

	promise(name != NULL);
	while (strstr(name + 1, "fuzz_"))
		name = strstr(name + 1, "fuzz_");
	(void)snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s", top ? top : ".", name + strlen("fuzz_"));
	corpus = opendir(path);
	if (!corpus) {
		(void)fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
		return EXIT_FAILURE;
	}
	while ((entry = readdir(corpus))) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay(dirfd(corpus), entry->d_name, true) < 0)
			return EXIT_FAILURE;
		passed++;
	}
	(void)printf("%d passed, 0 failed, 0 skipped\n", passed);
	return passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	int status = EXIT_SUCCESS;

	if (argc < 2)
		return replay_corpus(argv[0]);
	for (int i = 1; i < argc; i++)
		if (replay(AT_FDCWD, argv[i], false) < 0)
			status = EXIT_FAILURE;
	return status;
}
