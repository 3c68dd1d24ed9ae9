/* A rule's `when` for an explained event: a function of the same meaning takes its place, which records the values of its parts. */
#include "vm.h"

enum { TEXT_LIMIT = 200 };

static int note_part(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  lua_settop(L, 2);
  if (vm->operations.reads >= vm->limits.operations) return 1;
  rb_push_display(L, 2);
  rb_slice text = rb_text_at(L, 3);
  if (text.length > TEXT_LIMIT) text.length = TEXT_LIMIT;
  rb_op noted = {.integer = lua_tointeger(L, 1), .flags = lua_type(L, 2) == LUA_TSTRING};
  rb_add_text(vm, text, &noted.a, &noted.a_length);
  rb_add_op(vm, RB_OP_PART, noted);
  vm->operations.reads++;
  lua_settop(L, 2);
  return 1;
}

/* Pushes the `when` of a rule; false, and pushes nothing, if it has none that is written in Lua. */
static bool push_when(lua_State *L, int rule) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_WHENS);
  if (lua_rawgeti(L, -1, rule + 1) == LUA_TFUNCTION && !lua_iscfunction(L, -1)) {
    lua_remove(L, -2);
    return true;
  }
  lua_pop(L, 2);
  return false;
}

bool rb_find_when(rb_vm *vm, int rule, rb_slice *path, int *first, int *last) {
  lua_State *L = vm->L;
  if (vm->limits.dead || !push_when(L, rule)) return false;
  lua_Debug information;
  lua_getinfo(L, ">S", &information);
  if (information.source[0] != '@') return false;
  *path = (rb_slice){information.source + 1, strlen(information.source + 1)};
  *first = information.linedefined;
  *last = information.lastlinedefined;
  return true;
}

/* Gives each upvalue of the function at `to`, but for the recorder, that of the same name of the function at `from`; false if one has none. */
static bool join_upvalues(lua_State *L, int to, int from, rb_slice recorder) {
  const char *name;
  for (int i = 1; (name = lua_getupvalue(L, to, i)) != NULL; i++) {
    lua_pop(L, 1);
    if (strlen(name) == recorder.length && memcmp(name, recorder.bytes, recorder.length) == 0) continue;
    const char *other;
    int j = 1;
    while ((other = lua_getupvalue(L, from, j)) != NULL) {
      lua_pop(L, 1);
      if (strcmp(name, other) == 0) break;
      j++;
    }
    if (!other) return false;
    lua_upvaluejoin(L, to, i, from, j);
  }
  return true;
}

static int parameters(lua_State *L, int function) {
  lua_Debug information;
  lua_pushvalue(L, function);
  lua_getinfo(L, ">u", &information);
  return information.isvararg ? -1 : information.nparams;
}

typedef struct {
  int rule, lines;
  rb_slice text, path, recorder;
  bool replaced;
} replacement;

/* Reads the lines before the text, which are empty, then the text. */
static const char *next_piece(lua_State *L, void *context, size_t *length) {
  (void)L;
  static const char empty[] = "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n";
  replacement *call = context;
  const char *piece = call->text.bytes;
  if (call->lines > 0) {
    *length = call->lines < (int)sizeof empty - 1 ? (size_t)call->lines : sizeof empty - 1;
    call->lines -= (int)*length;
    return empty;
  }
  *length = call->text.length;
  call->text.length = 0;
  return piece;
}

static int replace_body(lua_State *L) {
  replacement *call = lua_touserdata(L, 1);
  lua_settop(L, 0);
  if (!push_when(L, call->rule)) return 0;
  lua_pushlstring(L, "@", 1);
  lua_pushlstring(L, call->path.bytes, call->path.length);
  lua_concat(L, 2);
  if (lua_load(L, next_piece, call, lua_tostring(L, 2), "t") != LUA_OK) return 0;
  lua_pushcfunction(L, note_part);
  lua_call(L, 1, 1);
  if (!lua_isfunction(L, 3) || parameters(L, 3) != parameters(L, 1) || !join_upvalues(L, 3, 1, call->recorder)) return 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_WHENS);
  lua_insert(L, 1);
  lua_settop(L, 4);
  lua_rawseti(L, 1, call->rule + 1);
  lua_pop(L, 1);
  lua_rawseti(L, 1, -(call->rule + 1));
  call->replaced = true;
  return 0;
}

bool rb_replace_when(rb_vm *vm, int rule, int lines, rb_slice text, rb_slice path, rb_slice recorder) {
  replacement call = {rule, lines, text, path, recorder, false};
  return rb_protect(vm, replace_body, &call) == RB_OK && call.replaced;
}

void rb_restore_when(rb_vm *vm, int rule) {
  if (vm->limits.dead) return;
  lua_State *L = vm->L;
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_WHENS);
  if (lua_rawgeti(L, -1, -(rule + 1)) == LUA_TFUNCTION) {
    lua_rawseti(L, -2, rule + 1);
  } else {
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}
