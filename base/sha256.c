/*
 * FIPS 180-4. By hand because this is all that most runs would load libcrypto for, which costs them 2 ms and each fork the
 * copies of its pages; tests/unit/test_sha256.c holds it against that.
 */
#include "base/sha256.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256-private.h"

#include "base/banned.h"

#define CHUNK_BYTES 65536

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	size_t held; /* bytes of a block that is not full yet */
	unsigned char block[SHA256_BLOCK_BYTES];
};

const uint32_t sha256_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, unsigned by)
{
	return word >> by | word << (32 - by);
}

static void make_schedule(uint32_t w[64], const unsigned char *bytes)
{
	for (size_t i = 0; i < 16; i++) {
		memcpy(&w[i], bytes + 4 * i, 4);
		w[i] = be32toh(w[i]);
	}
	for (size_t i = 16; i < 64; i++) {
		uint32_t low = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t high = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + low + w[i - 7] + high;
	}
}

static void take_block(uint32_t state[8], const unsigned char *bytes)
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6],
		 h = state[7];
	uint32_t w[64];

	make_schedule(w, bytes);
	for (size_t i = 0; i < 64; i++) {
		uint32_t one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) +
			       sha256_constants[i] + w[i];
		uint32_t two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));

		h = g;
		g = f;
		f = e;
		e = d + one;
		d = c;
		c = b;
		b = a;
		a = one + two;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

void sha256_blocks_plain(uint32_t state[8], const unsigned char *bytes, size_t count)
{
	for (; count > 0; count--, bytes += SHA256_BLOCK_BYTES)
		take_block(state, bytes);
}

static void take_blocks(uint32_t state[8], const unsigned char *bytes, size_t count)
{
	if (sha256_has_x86())
		sha256_blocks_x86(state, bytes, count);
	else
		sha256_blocks_plain(state, bytes, count);
}

static void begin(struct sha256 *sha)
{
	static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	*sha = (struct sha256){.held = 0};
	memcpy(sha->state, first, sizeof(first));
}

static void take(struct sha256 *sha, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	size_t fits = SHA256_BLOCK_BYTES - sha->held;

	sha->bytes += len;
	if (sha->held > 0 && len >= fits) {
		memcpy(sha->block + sha->held, bytes, fits);
		take_blocks(sha->state, sha->block, 1);
		sha->held = 0;
		bytes += fits;
		len -= fits;
	}
	if (sha->held == 0) {
		take_blocks(sha->state, bytes, len / SHA256_BLOCK_BYTES);
		bytes += len - len % SHA256_BLOCK_BYTES;
		len %= SHA256_BLOCK_BYTES;
	}
	if (len > 0)
		memcpy(sha->block + sha->held, bytes, len);
	sha->held += len;
}

static void end(struct sha256 *sha, char ret_hex[SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	static const unsigned char padding[SHA256_BLOCK_BYTES] = {0x80};
	uint64_t bits = htobe64(sha->bytes * 8);

	/* up to where the length fits exactly behind */
	take(sha, padding, 1 + (2 * SHA256_BLOCK_BYTES - 1 - sizeof(bits) - sha->held) % SHA256_BLOCK_BYTES);
	take(sha, &bits, sizeof(bits));
	for (size_t i = 0; i < SHA256_HEX_SIZE - 1; i++)
		ret_hex[i] = digits[sha->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
	ret_hex[SHA256_HEX_SIZE - 1] = '\0';
}

void sha256_bytes(const void *bytes, size_t len, char ret_hex[SHA256_HEX_SIZE])
{
	struct sha256 sha;

	begin(&sha);
	take(&sha, bytes, len);
	end(&sha, ret_hex);
}

int sha256_fd(int fd, char ret_hex[SHA256_HEX_SIZE], uint64_t *ret_bytes)
{
	unsigned char chunk[CHUNK_BYTES];
	struct sha256 sha;
	ssize_t got;

	begin(&sha);
	while ((got = read(fd, chunk, sizeof(chunk))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		take(&sha, chunk, (size_t)got);
	}
	*ret_bytes = sha.bytes;
	end(&sha, ret_hex);
	return 0;
}
