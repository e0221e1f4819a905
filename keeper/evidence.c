#include "keeper/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audit/sign.h"
#include "base/cleanup.h"
#include "base/text.h"

int evidence_allocate_signing_key(struct keeper *keeper)
{
	void *page;

	if (!keeper->options->audit_path)
		return 0;
	page = mmap(NULL, sizeof(*keeper->key), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	keeper->key = page;
	/* Children get zeros. A kernel before 4.14 copies the page for a second supervisor, which wipes its copy. */
	(void)madvise(page, sizeof(*keeper->key), MADV_WIPEONFORK);
	(void)madvise(page, sizeof(*keeper->key), MADV_DONTDUMP);
	return 0;
}

static int evidence_read_signing_key(struct keeper *keeper)
{
	char pem[SIGNING_PEM_BYTES];
	ssize_t n = TEMP_FAILURE_RETRY(pread(keeper->options->sign_key_fd, pem, sizeof(pem), 0));
	int r = n < 0 ? -errno : signing_parse_private(pem, (size_t)n, keeper->key);

	explicit_bzero(pem, sizeof(pem));
	return r;
}

int evidence_make_signing_key(struct keeper *keeper)
{
	int r;

	if (!keeper->key)
		return 0;
	r = keeper->options->sign_key_fd >= 0 ? evidence_read_signing_key(keeper) : signing_make_key(keeper->key);
	if (r == 0)
		memcpy(keeper->shared_page->audit_public_key_text, keeper->key->public_text,
		       sizeof(keeper->key->public_text));
	return r;
}

char *evidence_make_log_path(const struct keeper *keeper)
{
	const unsigned file = keeper->shared_page->audit_file;

	return file == 0 ? strdup(keeper->options->audit_path)
			 : text_format("%s.%u", keeper->options->audit_path, file);
}

int evidence_sign_log(struct keeper *keeper)
{
	const struct keeper_options *options = keeper->options;
	_cleanup_close_ int opened = -1;
	_cleanup_free_ char *path = NULL;
	int fd = options->audit_fd;

	if (!keeper->key)
		return 0;
	path = evidence_make_log_path(keeper);
	if (!path)
		return -ENOMEM;
	if (fd < 0)
		fd = opened = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	memcpy(keeper->outcome->log_public_key_text, keeper->key->public_text,
	       sizeof(keeper->outcome->log_public_key_text));
	return fd < 0 ? -errno : sign_trailer(fd, keeper->key, options->scratch->id, &keeper->outcome->log_end);
}

void evidence_release_signing_key(struct signing_key *key)
{
	if (!key)
		return;
	signing_wipe_key(key);
	(void)munmap(key, sizeof(*key));
}
