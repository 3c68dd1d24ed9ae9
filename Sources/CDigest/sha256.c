#include "CDigest.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

static const uint32_t constants[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
  0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
  0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
  0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
  0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
  0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static bool has_instructions(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1)) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* The instructions want the words a, b, e, f in one register and c, d, g, h in the other, the first of them highest. */
__attribute__((target("sha,ssse3,sse4.1"))) static void digest(uint32_t *state, const uint8_t *block, size_t count) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)&state[0]), 0xb1);
  __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)&state[4]), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; count--, block += 64) {
    const __m128i first = abef, second = cdgh;
    /* Four words of the schedule each; the oldest ones are replaced by those that come 16 later. */
    __m128i words[4];
    for (int i = 0; i < 4; i++) words[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), big_endian);
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++) {
      __m128i sum = _mm_add_epi32(words[i & 3], _mm_loadu_si128((const __m128i *)&constants[4 * i]));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      if (i < 12) {
        const __m128i last = words[(i + 3) & 3];
        __m128i next = _mm_sha256msg1_epu32(words[i & 3], words[(i + 1) & 3]);
        next = _mm_add_epi32(next, _mm_alignr_epi8(last, words[(i + 2) & 3], 4));
        words[i & 3] = _mm_sha256msg2_epu32(next, last);
      }
    }
    abef = _mm_add_epi32(abef, first);
    cdgh = _mm_add_epi32(cdgh, second);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128((__m128i *)&state[0], _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128((__m128i *)&state[4], _mm_alignr_epi8(dchg, feba, 8));
}

bool digest_sha256(uint32_t *state, const void *blocks, size_t count) {
  /* 0: not known yet, 1: no, 2: yes; threads that find out at the same time find the same. */
  static int known;
  int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (found == 0) {
    found = has_instructions() ? 2 : 1;
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  }
  if (found == 1) return false;
  digest(state, blocks, count);
  return true;
}

#else

bool digest_sha256(uint32_t *state, const void *blocks, size_t count) {
  (void)state, (void)blocks, (void)count;
  return false;
}

#endif
