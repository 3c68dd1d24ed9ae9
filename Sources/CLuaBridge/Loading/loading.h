#ifndef RB_LOADING_H
#define RB_LOADING_H
/* Loading a plugin, and looking at compiled texts. */
#include "Functions/functions.h"

/* The numbers of declarations. The evaluation reads `whens`. */
typedef struct {
  int rules, whens, queries, webs, sinks, tests;
} rb_declared;

/* Adds the functions that declare to the environment on top. */
void rb_open_declarations(lua_State *L);
/* Pushes the compiled text with the sandbox's globals as its environment. Raises if it does not compile. */
void rb_push_chunk(lua_State *L, rb_slice text, rb_slice path);
/* Call it with each new state, before it reads any text. */
void rb_find_call_counter(lua_State *L);

typedef struct {
  void *context;
  /* An assignment to an upvalue of the outermost function: its index there, and the line. */
  void (*assigned)(void *context, int upvalue, int line);
  /* A use of the outermost function's first upvalue that is not the reading of a name in it. */
  void (*escaped)(void *context);
  /* A line that holds code. */
  void (*line)(void *context, int line);
} rb_bytecode_visitor;
/* Writes the function on top of the stack as bytecode, with or without its lines. */
void rb_dump(lua_State *L, rb_buffer *into, bool strip);
/* Walks the function on top of the stack after all functions in it; false if the dump is of another Lua. */
bool rb_walk_bytecode(lua_State *L, const rb_bytecode_visitor *visitor);

#endif
