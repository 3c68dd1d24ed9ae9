#include "load.h"

enum { FINE_BITS = 9 };

static unsigned index_of(uint64_t value) {
  if (value < 1u << FINE_BITS) return (unsigned)value;
  unsigned shift = 63 - (unsigned)__builtin_clzll(value) - (FINE_BITS - 1);
  return (shift << (FINE_BITS - 1)) + (unsigned)(value >> shift);
}

static uint64_t upper_bound(unsigned index) {
  if (index < 1u << FINE_BITS) return index;
  unsigned shift = (index >> (FINE_BITS - 1)) - 1;
  uint64_t fine = index - ((uint64_t)shift << (FINE_BITS - 1));
  return ((fine + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value) {
  histogram->counts[index_of(value)] += 1;
  histogram->total += 1;
  if (value > histogram->max) histogram->max = value;
}

void histogram_merge(struct histogram *histogram, const struct histogram *other) {
  for (unsigned i = 0; i < sizeof histogram->counts / sizeof *histogram->counts; i++) histogram->counts[i] += other->counts[i];
  histogram->total += other->total;
  if (other->max > histogram->max) histogram->max = other->max;
}

uint64_t histogram_quantile(const struct histogram *histogram, double quantile) {
  uint64_t rank = (uint64_t)(quantile * (double)histogram->total), seen = 0;
  for (unsigned i = 0; i < sizeof histogram->counts / sizeof *histogram->counts; i++) {
    seen += histogram->counts[i];
    if (seen > rank) return upper_bound(i) < histogram->max ? upper_bound(i) : histogram->max;
  }
  return histogram->max;
}
