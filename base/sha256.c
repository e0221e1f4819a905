/* Uses nettle and not OpenSSL: loading libcrypto would cost 2 ms at each start, nettle costs 0.1 ms. */
#include "base/sha256.h"

#include <errno.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <unistd.h>

#define HASH_CHUNK_BYTES 65536

static void sha256_finish_digest(struct sha256_ctx *context, char ret_hex[SHA256_HEX_SIZE])
{
	unsigned char digest[SHA256_DIGEST_SIZE];

	sha256_digest(context, sizeof(digest), digest);
	base16_encode_update(ret_hex, sizeof(digest), digest);
	ret_hex[SHA256_HEX_SIZE - 1] = '\0';
}

void sha256_hash_bytes(const void *bytes, size_t len, char ret_hex[SHA256_HEX_SIZE])
{
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, len, bytes);
	sha256_finish_digest(&context, ret_hex);
}

int sha256_hash_fd(int fd, char ret_hex[SHA256_HEX_SIZE], uint64_t *ret_bytes)
{
	unsigned char chunk[HASH_CHUNK_BYTES];
	struct sha256_ctx context;
	uint64_t total = 0;
	ssize_t got;

	sha256_init(&context);
	while ((got = TEMP_FAILURE_RETRY(read(fd, chunk, sizeof(chunk)))) != 0) {
		if (got < 0)
			return -errno;
		sha256_update(&context, (size_t)got, chunk);
		total += (uint64_t)got;
	}
	sha256_finish_digest(&context, ret_hex);
	*ret_bytes = total;
	return 0;
}
