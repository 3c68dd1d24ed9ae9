// The event, byte for byte the same for every server, and the patching of its variable digits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

void template_append(struct template *template, const void *bytes, size_t count) {
  if (template->length + count > TEMPLATE_BYTES) {
    fprintf(stderr, "load: the event is too long\n");
    exit(2);
  }
  memcpy(template->bytes + template->length, bytes, count);
  template->length += count;
}

static void append_text(struct template *template, const char *text) {
  template_append(template, text, strlen(text));
}

void event_compose(struct template *event, const struct options *options) {
  append_text(event, "{\"specversion\":\"1.0\",\"type\":\"");
  append_text(event, options->type);
  append_text(event, "\",\"source\":\"vibe8/ios\",\"subject\":\"user:");
  event->subject_at[event->subjects++] = event->length;
  append_text(event, "00000000\",\"id\":\"");
  append_text(event, options->run);
  append_text(event, "-");
  event->event_at = event->length;
  append_text(event, "00000000\",\"data\":");
  append_text(event, options->data);
  append_text(event, "}");
}

void template_append_event(struct template *request, const struct template *event) {
  request->subject_at[request->subjects++] = request->length + event->subject_at[0];
  request->event_at = request->length + event->event_at;
  template_append(request, event->bytes, event->length);
}

static void stamp_decimal(char *at, int digits, uint32_t value) {
  for (int i = digits - 1; i >= 0; i--, value /= 10) at[i] = (char)('0' + value % 10);
}

void template_stamp(char *bytes, const struct template *request, uint32_t subject, uint32_t event, uint32_t slot) {
  memcpy(bytes, request->bytes, request->length);
  for (int i = 0; i < request->subjects; i++) stamp_decimal(bytes + request->subject_at[i], SUBJECT_DIGITS, subject);
  char *digits = bytes + request->event_at;
  for (int i = EVENT_DIGITS - 1; i >= 0; i--, event >>= 4) digits[i] = "0123456789abcdef"[event & 15];
  if (!request->slot_at) return;
  char *number = bytes + request->slot_at;
  if (!request->slot_is_binary) return stamp_decimal(number, SLOT_DIGITS, SLOT_BASE + slot);
  for (int i = 3; i >= 0; i--, slot >>= 8) number[i] = (char)(slot & 255);
}
