/* SHA-256 compared with libcrypto's. */
#include <check.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "tests/unit/unit.h"

#define BYTES_MAX 200000

static unsigned char bytes[BYTES_MAX];

static void make_bytes(void)
{
	uint32_t number = 1;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		number = number * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(number >> 24);
	}
}

static void theirs(size_t len, char hex[SHA256_HEX_SIZE])
{
	unsigned char digest[32];

	ck_assert_int_eq(EVP_Digest(bytes, len, digest, NULL, EVP_sha256(), NULL), 1);
	for (size_t i = 0; i < sizeof(digest); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

START_TEST(test_known)
{
	char hex[SHA256_HEX_SIZE];

	sha256_hash_bytes("", 0, hex);
	ck_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_hash_bytes("abc", 3, hex);
	ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

/* Lengths around block ends, where the padding needs another block. */
START_TEST(test_lengths)
{
	char hex[SHA256_HEX_SIZE], want[SHA256_HEX_SIZE];

	make_bytes();
	for (size_t len = 0; len < 300; len++) {
		theirs(len, want);
		sha256_hash_bytes(bytes, len, hex);
		ck_assert_str_eq(hex, want);
	}
	theirs(BYTES_MAX, want);
	sha256_hash_bytes(bytes, BYTES_MAX, hex);
	ck_assert_str_eq(hex, want);
}
END_TEST

/* From a pipe, with reads of partial blocks. */
START_TEST(test_pieces)
{
	static const size_t piece[] = {1, 62, 1, 64, 65, 63, 127, 2, 200, 3};
	char hex[SHA256_HEX_SIZE], want[SHA256_HEX_SIZE];
	uint64_t count = 0;
	size_t at = 0;
	int pair[2];

	make_bytes();
	ck_assert_int_eq(pipe(pair), 0);
	if (fork() == 0) {
		for (size_t i = 0; i < sizeof(piece) / sizeof(piece[0]); i++) {
			(void)!write(pair[1], bytes + at, piece[i]);
			at += piece[i];
			(void)usleep(2000); /* so that the reader gets this piece alone */
		}
		_exit(0);
	}
	(void)close(pair[1]);
	for (size_t i = 0; i < sizeof(piece) / sizeof(piece[0]); i++)
		at += piece[i];
	ck_assert_int_eq(sha256_hash_fd(pair[0], hex, &count), 0);
	theirs(at, want);
	ck_assert_str_eq(hex, want);
	ck_assert_uint_eq(count, at);
	(void)close(pair[0]);
}
END_TEST

START_TEST(test_file)
{
	_cleanup_close_ int fd = memfd_create("bytes", MFD_CLOEXEC);
	char hex[SHA256_HEX_SIZE], want[SHA256_HEX_SIZE];
	uint64_t count = 0;

	make_bytes();
	ck_assert_int_eq(write(fd, bytes, BYTES_MAX), BYTES_MAX);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(sha256_hash_fd(fd, hex, &count), 0);
	theirs(BYTES_MAX, want);
	ck_assert_str_eq(hex, want);
	ck_assert_uint_eq(count, BYTES_MAX);
	ck_assert_int_eq(sha256_hash_fd(-1, hex, &count), -EBADF);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sha256");
	TCase *tcase = tcase_create("sha256");

	tcase_add_test(tcase, test_known);
	tcase_add_test(tcase, test_lengths);
	tcase_add_test(tcase, test_pieces);
	tcase_add_test(tcase, test_file);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
