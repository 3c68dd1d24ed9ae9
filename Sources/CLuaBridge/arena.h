#ifndef RB_ARENA_H
#define RB_ARENA_H
/*
 * The memory of one VM: a reserved run of address space that is handed out in size classes and given back whole.
 *
 * Lua names the size of what it frees, so blocks need no headers. Nothing here takes a lock or calls malloc: a signal may leave in the
 * middle of any function, as the arena is dropped right after.
 */
#include <stddef.h>

enum { RB_ARENA_CLASSES = 64 + 4 * 26 };

typedef struct rb_free_block {
  struct rb_free_block *next;
} rb_free_block;

typedef struct {
  char *base;
  size_t reserved;
  size_t top;   /* bytes handed out from the front at least once */
  size_t used;  /* bytes in use, in whole classes */
  size_t limit; /* what `used` may not exceed */
  rb_free_block *free[RB_ARENA_CLASSES];
} rb_arena;

/* Reserves address space; false when the kernel refuses. */
int rb_arena_open(rb_arena *arena, size_t reserved);
void rb_arena_close(rb_arena *arena);
/* As lua_Alloc, NULL when the limit would be exceeded. */
void *rb_arena_resize(rb_arena *arena, void *block, size_t old_size, size_t new_size);

#endif
