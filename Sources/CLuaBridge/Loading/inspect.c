/* The names that rules have, for tools, and the evaluation of configuration files. */
#include "Loading/loading.h"

/* Inspection ------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  rb_slice text, path;
} source;

static int compile_body(lua_State *L) {
  const source *file = lua_touserdata(L, 1);
  rb_push_chunk(L, file->text, file->path);
  return 0;
}

rb_status rb_check_syntax(rb_vm *vm, rb_slice text, rb_slice path) {
  source file = {text, path};
  rb_budget budget = {.instructions = INT64_MAX / 2, .memory_bytes = 64 << 20, .milliseconds = 2000};
  rb_start_budget(vm, &budget);
  return rb_protect(vm, compile_body, &file);
}

typedef struct {
  rb_slice name;
  bool found;
} global_question;

static int has_global_body(lua_State *L) {
  global_question *question = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);
  lua_pushlstring(L, question->name.bytes, question->name.length);
  question->found = lua_rawget(L, -2) != LUA_TNIL;
  return 0;
}

bool rb_has_global(rb_vm *vm, rb_slice name) {
  global_question question = {name, false};
  rb_budget budget = {.instructions = INT64_MAX / 2, .memory_bytes = 1 << 20, .milliseconds = 1000};
  rb_start_budget(vm, &budget);
  return rb_protect(vm, has_global_body, &question) == RB_OK && question.found;
}

typedef struct {
  rb_slice name;
  void *context;
  void (*report)(void *context, rb_slice member);
} member_question;

static int members_body(lua_State *L) {
  const member_question *question = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);
  lua_pushlstring(L, question->name.bytes, question->name.length);
  if (lua_rawget(L, -2) != LUA_TTABLE) return 0;
  rb_push_store(L, -1);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING) continue;
    question->report(question->context, rb_text_at(L, -1));
  }
  return 0;
}

rb_status rb_each_member(rb_vm *vm, rb_slice name, void *context, void (*report)(void *, rb_slice)) {
  member_question question = {name, context, report};
  rb_budget budget = {.instructions = INT64_MAX / 2, .memory_bytes = 1 << 20, .milliseconds = 1000};
  rb_start_budget(vm, &budget);
  return rb_protect(vm, members_body, &question);
}

/* Configuration ---------------------------------------------------------------------------------------------------------------- */

/* Upvalues: the values by name, their lines by name. */
static int note_assignment(lua_State *L) {
  luaL_checktype(L, 2, LUA_TSTRING);
  lua_Debug frame;
  int line = 0;
  if (lua_getstack(L, 1, &frame)) {
    lua_getinfo(L, "l", &frame);
    line = frame.currentline;
  }
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_rawset(L, lua_upvalueindex(1));
  lua_pushvalue(L, 2);
  lua_pushinteger(L, line);
  lua_rawset(L, lua_upvalueindex(2));
  return 0;
}

/* Reads a global that was assigned before, or else one of the sandbox. Upvalue: the values. */
static int read_assigned(lua_State *L) {
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_GLOBALS);
  lua_pushvalue(L, 2);
  lua_gettable(L, -2);
  return 1;
}

static int configure_body(lua_State *L) {
  const source *file = lua_touserdata(L, 1);
  lua_newtable(L);
  lua_newtable(L);
  rb_push_chunk(L, file->text, file->path);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_pushcclosure(L, note_assignment, 2);
  lua_setfield(L, -2, "__newindex");
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, read_assigned, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setupvalue(L, 4, 1);
  lua_call(L, 0, 0);
  lua_newtable(L);
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "values");
  lua_pushvalue(L, 3);
  lua_setfield(L, -2, "lines");
  rb_encode_result(L, -1, RB_KIND_ERROR, "configuration");
  return 0;
}

rb_status rb_configure(rb_vm *vm, rb_slice text, rb_slice path, const rb_budget *budget) {
  source file = {text, path};
  rb_start_budget(vm, budget);
  return rb_protect(vm, configure_body, &file);
}
