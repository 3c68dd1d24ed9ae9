/* SHA-256 with the instructions that the processor has for it. */

#ifndef CDIGEST_H
#define CDIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digests so many blocks of 64 bytes into the eight words of `state`; false, with nothing done, where the processor has no such instructions. */
bool digest_sha256(uint32_t *state, const void *blocks, size_t count);

#endif
