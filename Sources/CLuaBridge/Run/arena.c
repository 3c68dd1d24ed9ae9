#include "Run/arena.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, RETURN_TO_KERNEL = 256 * 1024 };

/* The class of a size, and the size of its blocks. */
static unsigned class_of(size_t size, size_t *rounded) {
  if (size <= RB_ARENA_SMALL) {
    size_t steps = (size + 15) / 16;
    *rounded = steps * 16;
    return (unsigned)steps - 1;
  }
  unsigned doubling = 63u - (unsigned)__builtin_clzl(size - 1);
  size_t step = (size_t)1 << (doubling - 2);
  size_t quarter = (size - 1 - ((size_t)1 << doubling)) / step;
  *rounded = ((size_t)1 << doubling) + (quarter + 1) * step;
  return 64 + (doubling - 10) * 4 + (unsigned)quarter;
}

int rb_arena_open(rb_arena *arena, size_t reserved) {
  memset(arena, 0, sizeof *arena);
  void *base = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return 0;
  arena->base = base;
  arena->reserved = reserved;
  arena->limit = reserved;
  return 1;
}

void rb_arena_close(rb_arena *arena) {
  if (arena->base) munmap(arena->base, arena->reserved);
  arena->base = NULL;
}

static void *take(rb_arena *arena, size_t size) {
  size_t rounded;
  unsigned index = class_of(size, &rounded);
  if (index >= RB_ARENA_CLASSES || arena->used + rounded > arena->limit) return NULL;
  rb_free_block *block = arena->free[index];
  if (block) {
    arena->free[index] = block->next;
  } else {
    if (arena->top + rounded > arena->reserved) return NULL;
    block = (rb_free_block *)(arena->base + arena->top);
    arena->top += rounded;
  }
  arena->used += rounded;
  return block;
}

static void give(rb_arena *arena, void *memory, size_t size) {
  size_t rounded;
  unsigned index = class_of(size, &rounded);
  rb_free_block *block = memory;
  if (rounded >= RETURN_TO_KERNEL) {
    uintptr_t first = ((uintptr_t)memory + PAGE) & ~(uintptr_t)(PAGE - 1);
    uintptr_t last = ((uintptr_t)memory + rounded) & ~(uintptr_t)(PAGE - 1);
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
  }
  block->next = arena->free[index];
  arena->free[index] = block;
  arena->used -= rounded;
}

void *rb_arena_resize_any(rb_arena *arena, void *block, size_t old_size, size_t new_size) {
  if (new_size == 0) {
    if (block && old_size) give(arena, block, old_size);
    return NULL;
  }
  if (!block || old_size == 0) return take(arena, new_size);
  size_t old_rounded, new_rounded;
  if (class_of(old_size, &old_rounded) == class_of(new_size, &new_rounded)) return block;
  void *moved = take(arena, new_size);
  if (!moved) return new_size < old_size ? block : NULL;
  memcpy(moved, block, old_size < new_size ? old_size : new_size);
  give(arena, block, old_size);
  return moved;
}
