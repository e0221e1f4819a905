#include <errno.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "base/sha256.h"

#include "base/banned.h"

#define CHUNK_BYTES 65536

static void context_free(EVP_MD_CTX **context)
{
	EVP_MD_CTX_free(*context);
}

static void to_hex(const unsigned char *digest, size_t len, char ret_hex[SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[digest[i] >> 4];
		ret_hex[2 * i + 1] = digits[digest[i] & 15];
	}
	ret_hex[2 * len] = '\0';
}

int sha256_bytes(const void *bytes, size_t len, char ret_hex[SHA256_HEX_SIZE])
{
	unsigned char digest[(SHA256_HEX_SIZE - 1) / 2];

	if (!EVP_Digest(bytes, len, digest, NULL, EVP_sha256(), NULL))
		return -ENOMEM;
	to_hex(digest, sizeof(digest), ret_hex);
	return 0;
}

int sha256_fd(int fd, char ret_hex[SHA256_HEX_SIZE], uint64_t *ret_bytes)
{
	__attribute__((cleanup(context_free))) EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char chunk[CHUNK_BYTES], digest[(SHA256_HEX_SIZE - 1) / 2];
	uint64_t total = 0;
	ssize_t got;

	if (!context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL))
		return -ENOMEM;
	while ((got = read(fd, chunk, sizeof(chunk))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!EVP_DigestUpdate(context, chunk, (size_t)got))
			return -ENOMEM;
		total += (uint64_t)got;
	}
	if (!EVP_DigestFinal_ex(context, digest, NULL))
		return -ENOMEM;
	to_hex(digest, sizeof(digest), ret_hex);
	*ret_bytes = total;
	return 0;
}
