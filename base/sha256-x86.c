/* SHA-256 by the instructions that x86 processors since about 2017 have for it: seven times as fast. */
#include "base/sha256-private.h"

/* glibc 2.33 tells what it found; to ask the processor (cpuid) costs a virtual machine tens of microseconds. */
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)

#include <immintrin.h>
#include <sys/platform/x86.h>

#include "base/banned.h"

bool sha256_has_x86(void)
{
	return CPU_FEATURE_PRESENT(SHA) && CPU_FEATURE_PRESENT(SSE4_1) && CPU_FEATURE_PRESENT(SSSE3);
}

/* A load of what need not be aligned. */
static __m128i load(const void *from)
{
	return _mm_loadu_si128((const __m128i_u *)from);
}

/* Words 4i to 4i+3 of the schedule, from the sixteen before them. */
__attribute__((target("sha,sse4.1,ssse3"))) static inline __m128i next_words(const __m128i w[4], unsigned i)
{
	__m128i words = _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]);

	words = _mm_add_epi32(words, _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4));
	return _mm_sha256msg2_epu32(words, w[(i + 3) % 4]);
}

/* The instructions have the state's words as a, b, e, f and c, d, g, h, highest first. */
__attribute__((target("sha,sse4.1,ssse3"))) void sha256_blocks_x86(uint32_t state[8], const unsigned char *bytes,
								   size_t count)
{
	const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
	__m128i cdab = _mm_shuffle_epi32(load(state), 0xb1), efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
	__m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0), feba, dchg;

	for (; count > 0; count--, bytes += SHA256_BLOCK_BYTES) {
		__m128i before_abef = abef, before_cdgh = cdgh, w[4];

#pragma GCC unroll 16
		for (unsigned i = 0; i < 16; i++) {
			__m128i sum;

			w[i % 4] =
				i < 4 ? _mm_shuffle_epi8(load(bytes + 16 * (size_t)i), big_endian) : next_words(w, i);
			sum = _mm_add_epi32(w[i % 4], load(sha256_constants + 4 * (size_t)i));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
		}
		abef = _mm_add_epi32(abef, before_abef);
		cdgh = _mm_add_epi32(cdgh, before_cdgh);
	}
	feba = _mm_shuffle_epi32(abef, 0x1b);
	dchg = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i_u *)state, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i_u *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

#else

#include "base/banned.h"

bool sha256_has_x86(void)
{
	return false;
}

void sha256_blocks_x86(uint32_t state[8], const unsigned char *bytes, size_t count)
{
	(void)state;
	(void)bytes;
	(void)count;
}

#endif
