#include <stdlib.h>

#include "vm.h"

void rb_grow(rb_vm *vm, rb_buffer *buffer, size_t extra) {
  if (vm->limits.running && buffer->length + extra > vm->limits.memory) rb_leave(vm, RB_MEMORY);
  size_t wanted = buffer->capacity * 2 > buffer->length + extra ? buffer->capacity * 2 : buffer->length + extra + 64;
  rb_enter_host(vm);
  char *bytes = realloc(buffer->bytes, wanted);
  if (bytes) {
    buffer->bytes = bytes;
    buffer->capacity = wanted;
  }
  rb_exit_host(vm);
  if (!bytes) {
    if (vm->limits.running) rb_leave(vm, RB_MEMORY);
    abort();
  }
}

void rb_set(rb_vm *vm, rb_buffer *buffer, const char *bytes, size_t length) {
  buffer->length = 0;
  rb_append(vm, buffer, bytes, length);
}

void rb_grow_array(rb_vm *vm, void *array, size_t *capacity, size_t least, size_t size) {
  size_t wanted = *capacity ? *capacity * 2 : least;
  if (wanted * size > vm->limits.memory) rb_leave(vm, RB_MEMORY);
  rb_enter_host(vm);
  void *elements;
  memcpy(&elements, array, sizeof elements);
  elements = realloc(elements, wanted * size);
  if (elements) {
    memcpy(array, &elements, sizeof elements);
    *capacity = wanted;
  }
  rb_exit_host(vm);
  if (!elements) rb_leave(vm, RB_MEMORY);
}

void rb_trim(rb_buffer *buffer) {
  buffer->length = 0;
  if (buffer->capacity <= RB_KEPT_BYTES) return;
  free(buffer->bytes);
  *buffer = (rb_buffer){0};
}
