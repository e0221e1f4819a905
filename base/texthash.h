/* A hash of text that a hostile program chooses. Its key is random, so the program cannot make texts collide. */
#ifndef CALLGATE_BASE_TEXTHASH_H
#define CALLGATE_BASE_TEXTHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

/* The secret parameters of a hash, so that a hostile program cannot cause collisions. */
struct texthash {
	uint64_t seed;          /* random start value */
	uint64_t random_factor; /* odd multiplier of the hash */
};

static inline void texthash_init(struct texthash *hash)
{
	uint64_t key[2] = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u};

	/* If getrandom(2) fails, the constants are the key: the hash works, but a program could make texts collide. */
	(void)!getrandom(key, sizeof(key), GRND_NONBLOCK);
	hash->seed = key[0];
	hash->random_factor = key[1] | 1;
}

/* Hashes a text. start: the hash of what comes before it, or 0. */
static inline uint64_t texthash_compute(const struct texthash *hash, uint64_t start, const char *text, size_t len)
{
	uint64_t value = start ^ hash->seed ^ len, word;

	for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		value = (value ^ word) * hash->random_factor;
		value ^= value >> 29;
	}
	word = 0;
	memcpy(&word, text, len);
	value = (value ^ word) * hash->random_factor;
	return value ^ value >> 32;
}

#endif
