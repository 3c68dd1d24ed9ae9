#ifndef RB_ARENA_H
#define RB_ARENA_H
/*
 * The memory of one VM: reserved address space that is handed out in size classes and freed as a whole.
 *
 * Lua passes the size of each freed block, so blocks need no headers. Nothing here takes a lock or calls malloc: a signal may jump out of any
 * function, as the arena is freed right after.
 */
#include <stddef.h>

/* Classes are steps of 16 bytes up to 1 KiB, then four steps for each doubling. */
enum { RB_ARENA_SMALL = 1024, RB_ARENA_CLASSES = 64 + 4 * 26 };

typedef struct rb_free_block {
  struct rb_free_block *next;
} rb_free_block;

typedef struct {
  char *base;
  size_t reserved;
  size_t top;   /* bytes handed out from the front at least once */
  size_t used;  /* bytes in use, in whole classes */
  size_t limit; /* the bound of `used` */
  rb_free_block *free[RB_ARENA_CLASSES];
} rb_arena;

/* Reserves address space; false if the kernel refuses. */
int rb_arena_open(rb_arena *arena, size_t reserved);
void rb_arena_close(rb_arena *arena);
/* As lua_Alloc; NULL if the limit would be exceeded. For blocks of any size. */
void *rb_arena_resize_any(rb_arena *arena, void *block, size_t old_size, size_t new_size);

/* As rb_arena_resize_any, but small blocks that are free or freed are handled inline. */
static inline void *rb_arena_resize(rb_arena *arena, void *block, size_t old_size, size_t new_size) {
  if (!block && new_size - 1 < RB_ARENA_SMALL) {
    size_t class = (new_size - 1) / 16, rounded = (class + 1) * 16;
    rb_free_block *first = arena->free[class];
    if (first && arena->used + rounded <= arena->limit) {
      arena->free[class] = first->next;
      arena->used += rounded;
      return first;
    }
  } else if (block && new_size == 0 && old_size - 1 < RB_ARENA_SMALL) {
    size_t class = (old_size - 1) / 16;
    rb_free_block *given = block;
    given->next = arena->free[class];
    arena->free[class] = given;
    arena->used -= (class + 1) * 16;
    return NULL;
  }
  return rb_arena_resize_any(arena, block, old_size, new_size);
}

#endif
