// The load generator: one thread, one epoll, the same event bytes for every server. The protocols differ in the envelope around the
// event and in where a reply ends.
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TEMPLATE_BYTES = 2048, SUBJECT_DIGITS = 8, EVENT_DIGITS = 8, SLOT_DIGITS = 7, SLOT_BASE = 1000000 };

// A request with its variable fields at fixed offsets: sending one costs a copy and a few patched digits.
struct template {
  char bytes[TEMPLATE_BYTES];
  size_t length;
  size_t subject_at[2];  // SUBJECT_DIGITS decimal digits each
  int subjects;
  size_t event_at;       // EVENT_DIGITS hexadecimal digits
  size_t slot_at;        // 0: the replies come in order and carry no number
  bool slot_is_binary;   // four bytes, big endian; otherwise SLOT_DIGITS decimal digits from SLOT_BASE on
};

// The parts of a reply that the generator reads.
struct reply {
  int64_t slot;  // -1: the oldest request of the connection
  bool failed;
  bool duplicate;
};

struct protocol {
  const char *name;
  size_t greeting;  // bytes that the server sends before the first request
  bool (*compose)(struct template *request, const struct template *event, const char *function);
  // The length of the first complete reply in the bytes; 0 if it is incomplete, -1 if it is not a reply.
  ssize_t (*parse)(const char *bytes, size_t count, struct reply *reply);
};

extern const struct protocol ruled_protocol, redis_protocol, tarantool_protocol;

struct options {
  const struct protocol *protocol;
  const char *socket, *function, *type, *data, *run;
  unsigned connections, pipeline, subjects, seed;
  bool sequential;    // subjects 0, 1, 2 … instead of uniformly random ones
  double rate;        // requests a second, offered whatever the replies do; 0: closed loop
  double warmup, seconds;
  uint64_t requests;  // 0: by time alone
  pid_t server;       // whose processor time to report; 0: nobody's
  bool show;          // print the first reply to standard error
};

// Counts by value with three significant digits, from nanoseconds to minutes.
struct histogram {
  uint64_t counts[64 * 512];
  uint64_t total, max;
};

void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_merge(struct histogram *histogram, const struct histogram *other);
uint64_t histogram_quantile(const struct histogram *histogram, double quantile);

struct usage {
  double client, server, machine;  // processor seconds so far
};

struct usage usage_now(pid_t server);
uint64_t now_ns(void);

struct results {
  struct histogram latency;
  uint64_t answered, failed, duplicates, unfinished, sent;
  double seconds;
  struct usage before, after;
};

void event_compose(struct template *event, const struct options *options);
void template_append(struct template *template, const void *bytes, size_t count);
void template_append_event(struct template *request, const struct template *event);
void template_stamp(char *bytes, const struct template *request, uint32_t subject, uint32_t event, uint32_t slot);

// Runs the load; exits with a message when the server can't be reached or breaks the protocol.
void pump_run(const struct options *options, struct results *results);

#endif
