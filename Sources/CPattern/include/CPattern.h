/* Regular expressions of RE2, whose time grows with the length of a text and no faster. */

#ifndef CPATTERN_H
#define CPATTERN_H

#include <signal.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How long a pattern may be in bytes, how many groups it may have, and how many compiled ones a cache keeps. */
enum { CP_PATTERN_LIMIT = 4096, CP_GROUPS = 31, CP_CACHED = 32 };

typedef struct cp_pattern cp_pattern;
typedef struct cp_cache cp_cache;

/* NULL without memory. */
cp_cache *cp_cache_new(void);
void cp_cache_free(cp_cache *cache);

/* The compiled pattern: from the cache, or made now, in the place of the one that was used least recently. It is valid until the next call.
   NULL if it is no pattern; then `why` has the reason, cut off at `room` bytes with the final zero. */
const cp_pattern *cp_find(cp_cache *cache, const char *bytes, size_t length, char *why, size_t room);

/* How many steps a byte of a text may take at most, and how many groups the pattern has. */
size_t cp_steps(const cp_pattern *pattern);
size_t cp_groups(const cp_pattern *pattern);

/* A part of a text: its first byte, and the one after its last; NULL twice for a group that took no part. */
typedef struct {
  const char *start, *end;
} cp_part;

typedef enum { CP_NONE, CP_FOUND, CP_STOPPED } cp_result;

/* Finds the leftmost match. It is stopped if `stop` is set meanwhile, and if it would take far longer than the states of the pattern allow that
   fit into its memory. */
cp_result cp_search(const cp_pattern *pattern, const char *text, size_t length, const volatile sig_atomic_t *stop, cp_part *match);
/* Finds the groups of a match; it may take all steps for each byte of it. */
void cp_split(const cp_pattern *pattern, const char *text, size_t length, cp_part match, cp_part groups[CP_GROUPS]);

#ifdef __cplusplus
}
#endif

#endif
