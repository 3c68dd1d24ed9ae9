// The loop: keeps each connection's pipeline full (closed loop) or sends when a request is due (open loop), where the
// latency counts from the time at which it was due, however late it could be sent.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "load.h"

// LEAST_WAIT: nanoseconds between two checks for due requests, so that the generator leaves the processors to the server.
// The wait counts as latency, for every server alike.
enum { INPUT_BYTES = 1 << 18, DRAIN_SECONDS = 10, LEAST_WAIT = 100000 };

struct connection {
  int descriptor;
  char *input, *output;
  size_t received, written, queued;  // `output` is sent up to `written` and filled up to `queued`
  uint64_t *begun;                   // by slot: when the request was sent or due
  uint32_t *free_slots;              // a ring: slots are used in order, so the oldest in flight returns first
  uint32_t first_free, in_flight;
  uint64_t sent, due;
  bool waits_for_room;
};

struct pump {
  const struct options *options;
  struct results *results;
  struct template request;
  struct connection *connections;
  uint64_t started, measured_from, ends, random;
  uint64_t sent, answered, due;
  uint32_t next_subject;
  int epoll;
  bool measuring, stopped;
};

__attribute__((noreturn)) static void fail(const char *what) {
  fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
  exit(2);
}

static void open_connection(struct pump *pump, struct connection *connection, uint32_t number) {
  const struct options *options = pump->options;
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  if (strlen(options->socket) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    fail(options->socket);
  }
  strcpy(address.sun_path, options->socket);
  connection->descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection->descriptor < 0) fail("socket");
  if (connect(connection->descriptor, (struct sockaddr *)&address, sizeof address) < 0) fail(options->socket);
  char greeting[256];
  size_t wanted = options->protocol->greeting;
  if (wanted && recv(connection->descriptor, greeting, wanted, MSG_WAITALL) != (ssize_t)wanted) fail("greeting");

  connection->input = malloc(INPUT_BYTES);
  connection->output = malloc(pump->request.length * options->pipeline);
  connection->begun = calloc(options->pipeline, sizeof *connection->begun);
  connection->free_slots = calloc(options->pipeline, sizeof *connection->free_slots);
  if (!connection->input || !connection->output || !connection->begun || !connection->free_slots) fail("memory");
  for (uint32_t i = 0; i < options->pipeline; i++) connection->free_slots[i] = i;
  struct epoll_event event = { .events = EPOLLIN, .data.u32 = number };
  if (epoll_ctl(pump->epoll, EPOLL_CTL_ADD, connection->descriptor, &event) < 0) fail("epoll_ctl");
}

static uint32_t choose_subject(struct pump *pump) {
  if (pump->options->sequential) return pump->next_subject++ % pump->options->subjects;
  pump->random ^= pump->random << 13;
  pump->random ^= pump->random >> 7;
  pump->random ^= pump->random << 17;
  return (uint32_t)(((pump->random >> 32) * pump->options->subjects) >> 32);
}

static void watch_room(struct pump *pump, struct connection *connection, bool wanted) {
  if (connection->waits_for_room == wanted) return;
  connection->waits_for_room = wanted;
  struct epoll_event event = { .events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN,
                               .data.u32 = (uint32_t)(connection - pump->connections) };
  if (epoll_ctl(pump->epoll, EPOLL_CTL_MOD, connection->descriptor, &event) < 0) fail("epoll_ctl");
}

static void flush(struct pump *pump, struct connection *connection) {
  while (connection->written < connection->queued) {
    ssize_t count = send(connection->descriptor, connection->output + connection->written,
                         connection->queued - connection->written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return watch_room(pump, connection, true);
    if (count < 0) fail("send");
    connection->written += (size_t)count;
  }
  connection->written = connection->queued = 0;
  watch_room(pump, connection, false);
}

static uint64_t due_time(const struct pump *pump, uint64_t number) {
  return pump->started + (uint64_t)((double)number * 1e9 / pump->options->rate);
}

// Sends the requests that may leave on the connection now: as much as the pipeline holds, as much as is due.
static void refill(struct pump *pump, struct connection *connection, uint64_t now) {
  const struct options *options = pump->options;
  if (connection->queued) return flush(pump, connection);
  while (connection->in_flight < options->pipeline) {
    uint64_t begun = now;
    if (options->rate > 0) {
      if (connection->sent >= connection->due) break;
      begun = due_time(pump, connection->sent * options->connections + (uint64_t)(connection - pump->connections));
    } else if (pump->stopped || (options->requests && pump->sent >= options->requests)) {
      break;
    }
    uint32_t slot = connection->free_slots[connection->first_free];
    connection->first_free = (connection->first_free + 1) % options->pipeline;
    connection->begun[slot] = begun;
    connection->in_flight += 1;
    connection->sent += 1;
    template_stamp(connection->output + connection->queued, &pump->request, choose_subject(pump),
                   (uint32_t)pump->sent++, slot);
    connection->queued += pump->request.length;
  }
  if (connection->queued) flush(pump, connection);
}

static void take_reply(struct pump *pump, struct connection *connection, const struct reply *reply, uint64_t now) {
  const struct options *options = pump->options;
  struct results *results = pump->results;
  uint32_t end = (connection->first_free + options->pipeline - connection->in_flight) % options->pipeline;
  uint32_t slot = reply->slot < 0 ? connection->free_slots[end] : (uint32_t)reply->slot;
  if (connection->in_flight == 0 || slot >= options->pipeline || connection->begun[slot] == 0) {
    errno = EPROTO;
    fail("a reply that nobody asked for");
  }
  uint64_t begun = connection->begun[slot];
  connection->begun[slot] = 0;
  connection->free_slots[end] = slot;
  connection->in_flight -= 1;
  pump->answered += 1;
  results->failed += reply->failed;
  results->duplicates += reply->duplicate;
  if (!pump->measuring) return;
  if (!pump->stopped) results->answered += 1;
  if (begun >= pump->measured_from) histogram_add(&results->latency, now > begun ? now - begun : 0);
}

static void show_bytes(const char *bytes, size_t count) {
  fputs("load: ", stderr);
  for (size_t i = 0; i < count; i++) fputc(bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '.', stderr);
  fputc('\n', stderr);
}

static void receive(struct pump *pump, struct connection *connection) {
  ssize_t count = recv(connection->descriptor, connection->input + connection->received,
                       INPUT_BYTES - connection->received, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count == 0) errno = ECONNRESET;
  if (count <= 0) fail("recv");
  connection->received += (size_t)count;
  uint64_t now = now_ns();
  size_t used = 0;
  while (used < connection->received) {
    struct reply reply = { .slot = -1 };
    const char *bytes = connection->input + used;
    ssize_t length = pump->options->protocol->parse(bytes, connection->received - used, &reply);
    if (length < 0 || (length == 0 && used == 0 && connection->received == INPUT_BYTES)) {
      errno = EPROTO;
      fail("no reply of this protocol");
    }
    if (length == 0) break;
    if ((pump->options->show && pump->answered == 0) || (reply.failed && pump->results->failed < 3))
      show_bytes(bytes, (size_t)length);
    take_reply(pump, connection, &reply, now);
    used += (size_t)length;
  }
  memmove(connection->input, connection->input + used, connection->received - used);
  connection->received -= used;
  refill(pump, connection, now);
}

// Gives each connection the requests that have become due, in turn.
static void release_due(struct pump *pump, uint64_t now) {
  const struct options *options = pump->options;
  uint64_t until = now < pump->ends ? now : pump->ends;
  while (due_time(pump, pump->due) <= until && !(options->requests && pump->due >= options->requests)) {
    struct connection *connection = &pump->connections[pump->due % options->connections];
    connection->due += 1;
    pump->due += 1;
    refill(pump, connection, now);
  }
}

static bool mark_time(struct pump *pump, uint64_t now) {
  const struct options *options = pump->options;
  if (!pump->measuring && now >= pump->measured_from) {
    pump->measuring = true;
    pump->measured_from = now;
    pump->results->before = usage_now(options->server);
  }
  bool all = options->requests && pump->answered >= options->requests;
  if (!pump->stopped && (now >= pump->ends || all)) {
    pump->stopped = true;
    pump->results->after = usage_now(options->server);
    pump->results->seconds = (double)(now - pump->measured_from) / 1e9;
  }
  uint64_t expected = options->rate > 0 ? pump->due : pump->sent;
  return pump->stopped && (pump->answered >= expected || now >= pump->ends + DRAIN_SECONDS * 1000000000ull);
}

static struct timespec patience(const struct pump *pump, uint64_t now) {
  uint64_t next = now + 10000000u;
  if (pump->options->rate > 0 && !pump->stopped && due_time(pump, pump->due) < next) next = due_time(pump, pump->due);
  uint64_t wait = next > now + LEAST_WAIT ? next - now : LEAST_WAIT;
  return (struct timespec){ .tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u) };
}

void pump_run(const struct options *options, struct results *results) {
  struct pump pump = { .options = options, .results = results, .random = 0x9e3779b97f4a7c15u ^ options->seed };
  struct template event = { .length = 0 };
  event_compose(&event, options);
  options->protocol->compose(&pump.request, &event, options->function);
  prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  pump.epoll = epoll_create1(EPOLL_CLOEXEC);
  pump.connections = calloc(options->connections, sizeof *pump.connections);
  if (pump.epoll < 0 || !pump.connections) fail("start");
  for (uint32_t i = 0; i < options->connections; i++) open_connection(&pump, &pump.connections[i], i);

  pump.started = now_ns();
  pump.measured_from = pump.started + (uint64_t)(options->warmup * 1e9);
  pump.ends = pump.measured_from + (uint64_t)(options->seconds * 1e9);
  uint64_t now = pump.started;
  mark_time(&pump, now);
  if (options->rate <= 0)
    for (uint32_t i = 0; i < options->connections; i++) refill(&pump, &pump.connections[i], now);
  struct epoll_event events[64];
  while (!mark_time(&pump, now)) {
    if (options->rate > 0) release_due(&pump, now);
    struct timespec wait = patience(&pump, now_ns());
    int ready = epoll_pwait2(pump.epoll, events, 64, &wait, NULL);
    if (ready < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < ready; i++) {
      struct connection *connection = &pump.connections[events[i].data.u32];
      if (events[i].events & EPOLLOUT) flush(&pump, connection);
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(&pump, connection);
    }
    now = now_ns();
  }
  results->sent = pump.sent;
  results->unfinished = (options->rate > 0 ? pump.due : pump.sent) - pump.answered;
}
