// The three envelopes: JSON-RPC lines, Redis's FCALL and Tarantool's IPROTO CALL.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static bool says_duplicate(const char *bytes, size_t count) {
  static const char words[] = "\"duplicate\":true";
  return memmem(bytes, count, words, sizeof words - 1) != NULL;
}

static void append_text(struct template *template, const char *text) {
  template_append(template, text, strlen(text));
}

// ruled: one request per line; `id` is the slot.

static bool ruled_compose(struct template *request, const struct template *event, const char *function) {
  (void)function;
  append_text(request, "{\"jsonrpc\":\"2.0\",\"id\":");
  request->slot_at = request->length;
  append_text(request, "1000000,\"method\":\"event\",\"params\":");
  template_append_event(request, event);
  append_text(request, "}\n");
  return true;
}

static ssize_t ruled_parse(const char *bytes, size_t count, struct reply *reply) {
  static const char id[] = "\"id\":", clean[] = "\"failures\":[]";
  const char *end = memchr(bytes, '\n', count);
  if (!end) return 0;
  size_t length = (size_t)(end - bytes) + 1, head = length < 48 ? length : 48;
  const char *number = memmem(bytes, head, id, sizeof id - 1);
  if (!number) return -1;
  reply->slot = strtoll(number + sizeof id - 1, NULL, 10) - SLOT_BASE;
  reply->failed = memmem(bytes, length, clean, sizeof clean - 1) == NULL;
  reply->duplicate = says_duplicate(bytes, length);
  return (ssize_t)length;
}

const struct protocol ruled_protocol = { "ruled", 0, ruled_compose, ruled_parse };

// Redis: FCALL function 1 subject event; replies come in order.

static bool redis_compose(struct template *request, const struct template *event, const char *function) {
  char head[256];
  snprintf(head, sizeof head, "*5\r\n$5\r\nFCALL\r\n$%zu\r\n%s\r\n$1\r\n1\r\n$%d\r\nuser:", strlen(function), function,
           5 + SUBJECT_DIGITS);
  append_text(request, head);
  request->subject_at[request->subjects++] = request->length;
  snprintf(head, sizeof head, "00000000\r\n$%zu\r\n", event->length);
  append_text(request, head);
  template_append_event(request, event);
  append_text(request, "\r\n");
  return true;
}

static ssize_t redis_parse(const char *bytes, size_t count, struct reply *reply) {
  const char *end = memchr(bytes, '\n', count);
  if (!end) return 0;
  size_t head = (size_t)(end - bytes) + 1;
  reply->slot = -1;
  reply->duplicate = false;
  reply->failed = bytes[0] != '$';
  if (bytes[0] == '-') return (ssize_t)head;
  if (bytes[0] != '$') return -1;
  size_t length = strtoull(bytes + 1, NULL, 10);
  if (count < head + length + 2) return 0;
  reply->duplicate = says_duplicate(end + 1, length);
  return (ssize_t)(head + length + 2);
}

const struct protocol redis_protocol = { "redis", 0, redis_compose, redis_parse };

// Tarantool: a length, a map with the code and the number of the request, a map with the function and its arguments.

enum { TYPE_KEY = 0x00, SYNC_KEY = 0x01, TUPLE_KEY = 0x21, FUNCTION_KEY = 0x22, CALL = 0x0a, TYPE_ERROR = 0x8000 };

static void append_string(struct template *request, size_t length) {
  const unsigned char head[3] = { 0xda, (unsigned char)(length >> 8), (unsigned char)length };
  template_append(request, head, sizeof head);
}

static bool tarantool_compose(struct template *request, const struct template *event, const char *function) {
  const unsigned char header[] = { 0xce, 0, 0, 0, 0, 0x82, TYPE_KEY, CALL, SYNC_KEY, 0xce };
  const unsigned char body[] = { 0x82, FUNCTION_KEY };
  const unsigned char arguments[] = { TUPLE_KEY, 0x91 };
  template_append(request, header, sizeof header);
  request->slot_at = request->length;
  request->slot_is_binary = true;
  template_append(request, "\0\0\0\0", 4);
  template_append(request, body, sizeof body);
  append_string(request, strlen(function));
  append_text(request, function);
  template_append(request, arguments, sizeof arguments);
  append_string(request, event->length);
  template_append_event(request, event);
  size_t length = request->length - 5;
  for (int i = 4; i >= 1; i--, length >>= 8) request->bytes[i] = (char)(length & 255);
  return true;
}

// A MessagePack number at `at`, or -1; moves `at` past it.
static int64_t unsigned_at(const unsigned char **at, const unsigned char *end) {
  unsigned char kind = *(*at)++;
  if (kind < 0x80) return kind;
  if (kind < 0xcc || kind > 0xcf) return -1;
  int width = 1 << (kind - 0xcc);
  if (end - *at < width) return -1;
  uint64_t value = 0;
  for (int i = 0; i < width; i++) value = value << 8 | *(*at)++;
  return (int64_t)value;
}

static ssize_t tarantool_parse(const char *bytes, size_t count, struct reply *reply) {
  const unsigned char *at = (const unsigned char *)bytes, *end = at + count;
  if (count < 10) return 0;
  int64_t length = unsigned_at(&at, end);
  if (length < 0) return -1;
  if (end - at < length) return 0;
  const unsigned char *stop = at + length;
  if ((*at & 0xf0) != 0x80) return -1;
  reply->slot = -1;
  for (int pairs = *at++ & 15; pairs > 0; pairs--) {
    int key = *at++;
    int64_t value = unsigned_at(&at, stop);
    if (value < 0) return -1;
    if (key == TYPE_KEY) reply->failed = value >= TYPE_ERROR;
    if (key == SYNC_KEY) reply->slot = value;
  }
  reply->duplicate = says_duplicate((const char *)at, (size_t)(stop - at));
  return reply->slot < 0 ? -1 : (ssize_t)((const char *)stop - bytes);
}

const struct protocol tarantool_protocol = { "tarantool", 128, tarantool_compose, tarantool_parse };
