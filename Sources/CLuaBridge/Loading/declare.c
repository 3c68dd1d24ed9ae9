/* Loading: the files of a plugin, their modules, and their declarations. */
#include <stdio.h>

#include "vm.h"

/* The longest plugin file, and a little more, for a mutation of it. */
enum { SOURCE_LIMIT = 256 * 1024 + 64, STATE_VERSIONS = 1000000 };

/* Chunks ----------------------------------------------------------------------------------------------------------------------- */

static void note_escape(void *context) { *(bool *)context = true; }

/* Whether the file whose function is on top uses its environment in other ways than by reading names. */
static bool environment_escapes(lua_State *L) {
  bool escapes = false;
  rb_bytecode_visitor visitor = {.context = &escapes, .escaped = note_escape};
  return !rb_walk_bytecode(L, &visitor) || escapes;
}

void rb_push_chunk(lua_State *L, rb_slice text, rb_slice path) {
  /* A text that records its coverage is longer than the file. */
  if (text.length > SOURCE_LIMIT && !rb_vm_of(L)->limits.on_line) {
    lua_pushlstring(L, path.bytes, path.length);
    luaL_error(L, "%s:1: the file is larger than 256 KiB", lua_tostring(L, -1));
  }
  rb_compile(L, text, path);
  /* A file that only reads globals needs no proxy: that only refuses writes. */
  lua_rawgeti(L, LUA_REGISTRYINDEX, environment_escapes(L) ? RB_SLOT_GLOBALS : RB_SLOT_ENVIRONMENT);
  if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
}

/* Calls a function that loads a file, within the budget if there is one. */
static rb_status load(rb_vm *vm, lua_CFunction body, void *file, const rb_budget *budget) {
  if (budget) rb_start_budget(vm, budget);
  vm->phase = RB_PHASE_LOAD;
  rb_status status = rb_protect(vm, body, file);
  vm->phase = RB_PHASE_IDLE;
  return status;
}

typedef struct {
  rb_slice text, path;
} source_file;

static int load_body(lua_State *L) {
  const source_file *file = lua_touserdata(L, 1);
  rb_push_chunk(L, file->text, file->path);
  lua_call(L, 0, 0);
  return 0;
}

rb_status rb_load(rb_vm *vm, rb_slice text, rb_slice path, const rb_budget *budget) {
  source_file file = {text, path};
  return load(vm, load_body, &file, budget);
}

typedef struct {
  rb_slice name, text;
} data_file;

static int data_body(lua_State *L) {
  const data_file *file = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_DATA_FILES);
  lua_pushlstring(L, file->name.bytes, file->name.length);
  rb_charge(L, file->text.length);
  if (!rb_push_text(L, file->text.bytes, file->text.length, true)) return lua_error(L);
  lua_rawset(L, -3);
  return 0;
}

rb_status rb_load_data(rb_vm *vm, rb_slice name, rb_slice text, const rb_budget *budget) {
  data_file file = {name, text};
  return load(vm, data_body, &file, budget);
}

/* Whether a module of the library calls: it finds others of the library, whatever stands beside plugin.lua under their names. */
static bool library_calls(lua_State *L) {
  lua_Debug caller;
  return lua_getstack(L, 1, &caller) && lua_getinfo(L, "S", &caller) && strncmp(caller.source, "@lib/", 5) == 0;
}

static int host_require(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  size_t length;
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  if (library_calls(L)) {
    lua_pushliteral(L, "lib/");
    lua_insert(L, 1);
    lua_concat(L, 2);
  }
  const char *name = lua_tolstring(L, 1, &length);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_MODULES);
  lua_pushvalue(L, 1);
  int type = lua_rawget(L, 2);
  if (type == LUA_TLIGHTUSERDATA) return luaL_error(L, "'%s' requires itself", name);
  if (type != LUA_TNIL) return 1;
  if (vm->phase != RB_PHASE_LOAD) return luaL_error(L, "require works only while a plugin loads");
  rb_slice asked = {name, length}, text = {0}, path = {0};
  rb_enter_host(vm);
  int found = vm->host.find ? vm->host.find(vm->context, asked, &text, &path) : RB_MODULE_ABSENT;
  rb_exit_host(vm);
  if (found == RB_MODULE_ABSENT) return luaL_error(L, "there is no '%s.lua' beside plugin.lua or in lib", strncmp(name, "lib/", 4) ? name : name + 4);
  if (found == RB_MODULE_REFUSED) {
    lua_pushlstring(L, text.bytes, text.length);
    return lua_error(L);
  }
  lua_pushvalue(L, 1);
  lua_pushlightuserdata(L, vm);
  lua_rawset(L, 2);
  /* A file that is required under two names runs once. */
  lua_pushlstring(L, path.bytes, path.length);
  lua_pushvalue(L, -1);
  if (lua_rawget(L, 2) == LUA_TNIL) {
    rb_push_chunk(L, text, path);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_pushboolean(L, 1);
    }
    lua_pushvalue(L, 4);
    lua_pushvalue(L, -2);
    lua_rawset(L, 2);
  }
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, 2);
  return 1;
}

/* Declarations ----------------------------------------------------------------------------------------------------------------- */

static rb_vm *loading(lua_State *L, const char *what) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->phase != RB_PHASE_LOAD) luaL_error(L, "%s can be declared only while a plugin loads", what);
  return vm;
}

/* Passes a declaration, whose JSON is in `vm->result`, to the host. Raises its refusal; pushes its answer if there is one. */
static int pass_declaration(lua_State *L, rb_declaration kind, int index, rb_slice name, rb_slice file, int line) {
  rb_vm *vm = rb_vm_of(L);
  rb_value answer = {0};
  rb_slice error = {0}, json = {vm->result.bytes, vm->result.length};
  if (!vm->host.declare) return 0;
  rb_enter_host(vm);
  bool accepted = vm->host.declare(vm->context, kind, index, name, json, file, line, &answer, &error);
  rb_exit_host(vm);
  if (!accepted) {
    lua_pushlstring(L, file.bytes, file.length);
    lua_pushlstring(L, error.bytes, error.length);
    lua_pushfstring(L, "%s:%d: %s", lua_tostring(L, -2), line, lua_tostring(L, -1));
    return lua_error(L);
  }
  rb_push_value(L, &answer);
  return 1;
}

static rb_slice position(lua_State *L, int *line) {
  lua_Debug frame;
  rb_slice file = {"", 0};
  *line = 0;
  if (lua_getstack(L, 1, &frame)) {
    lua_getinfo(L, "Sl", &frame);
    *line = frame.currentline > 0 ? frame.currentline : 0;
    if (frame.source[0] == '@') {
      file.bytes = frame.source + 1;
      file.length = strlen(frame.source + 1);
    }
  }
  return file;
}

static int declare_plugin(lua_State *L) {
  loading(L, "a plugin");
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  int line;
  rb_slice file = position(L, &line), none = {"", 0};
  rb_encode_result(L, 1, RB_KIND_ERROR, "plugin");
  pass_declaration(L, RB_DECLARE_PLUGIN, 0, none, file, line);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);
  lua_pushvalue(L, 2);
  lua_setfield(L, 3, "settings");
  if (rb_push_store(L, 1)) lua_replace(L, 1);
  lua_newtable(L);
  rb_push_member(L, 1, "name");
  lua_setfield(L, -2, "name");
  rb_push_member(L, 1, "version");
  lua_setfield(L, -2, "version");
  rb_push_frozen(L);
  lua_setfield(L, 3, "plugin");
  return 0;
}

static const char *const kind_names[] = {"a plugin", "a rule", "a query", "a web handler", "a sink handler", "a test", "an event",
                                         "a state", "a migration", "a setting"};

/* Encodes the table at 1, a rule, a query, a sink or a setting, to `vm->result`, without its functions; `check` of a setting becomes true. */
static void encode_functions(lua_State *L, const char *what, rb_declaration kind) {
  lua_newtable(L);
  int copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    bool is_check = kind == RB_DECLARE_SETTING && strcmp(name, "check") == 0;
    bool is_run = kind != RB_DECLARE_SETTING && (strcmp(name, "when") == 0 || strcmp(name, "run") == 0);
    if ((is_check || is_run) && lua_type(L, -1) != LUA_TFUNCTION)
      luaL_error(L, "'%s' must be a function, not a %s", name, luaL_typename(L, -1));
    if (is_run) {
      lua_pop(L, 1);
      continue;
    }
    /* A check is noted; a function under another key is refused for its key. */
    if (lua_isfunction(L, -1)) {
      lua_pop(L, 1);
      lua_pushboolean(L, true);
    }
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, copy);
  }
  rb_encode_result(L, copy, RB_KIND_ERROR, what);
  lua_settop(L, 1);
}

/* Encodes the tables at 1 and 2 to `vm->result`: the members of an event's data, and options. */
static void encode_event(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_isnoneornil(L, 2)) {
    lua_settop(L, 1);
    lua_newtable(L);
  }
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  lua_createtable(L, 2, 0);
  lua_insert(L, 1);
  lua_rawseti(L, 1, 2);
  lua_rawseti(L, 1, 1);
  rb_encode_result(L, 1, RB_KIND_ERROR, "event");
}

/* Declares the setting whose options are at 1, and keeps its check. */
static void declare_setting(lua_State *L, rb_slice name, rb_slice file, int line) {
  lua_settop(L, 1);
  luaL_checktype(L, 1, LUA_TTABLE);
  encode_functions(L, "setting", RB_DECLARE_SETTING);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_CHECKS);
  lua_Integer index = (lua_Integer)lua_rawlen(L, 2);
  pass_declaration(L, RB_DECLARE_SETTING, (int)index, name, file, line);
  if (rb_push_member(L, 1, "check") == LUA_TNIL) lua_pushboolean(L, 0);
  lua_rawseti(L, 2, index + 1);
}

/* Upvalues: kind, name, file, line. */
static int declare_body(lua_State *L) {
  rb_declaration kind = (rb_declaration)lua_tointeger(L, lua_upvalueindex(1));
  rb_vm *vm = loading(L, kind_names[kind]);
  rb_slice name = rb_text_at(L, lua_upvalueindex(2)), file = rb_text_at(L, lua_upvalueindex(3));
  int line = (int)lua_tointeger(L, lua_upvalueindex(4));
  if (kind == RB_DECLARE_EVENT) {
    encode_event(L);
    pass_declaration(L, kind, 0, name, file, line);
    return 0;
  }
  if (kind == RB_DECLARE_SETTING) {
    declare_setting(L, name, file, line);
    return 0;
  }
  lua_settop(L, 1);
  static const int slots[] = {0, RB_SLOT_RULES, RB_SLOT_QUERIES, RB_SLOT_WEBS, RB_SLOT_SINKS, RB_SLOT_TESTS};
  int *counts[] = {NULL, &vm->declared.rules, &vm->declared.queries, &vm->declared.webs, &vm->declared.sinks, &vm->declared.tests};
  int index = *counts[kind];
  if (kind == RB_DECLARE_RULE) {
    luaL_checktype(L, 1, LUA_TTABLE);
    encode_functions(L, "rule", kind);
    rb_push_member(L, 1, "run");
    if (!lua_isfunction(L, 2)) return luaL_error(L, "rule '%s' has no 'run' function", name.bytes);
    rb_push_member(L, 1, "when");
    if (lua_isfunction(L, 3)) {
      lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_WHENS);
      lua_pushvalue(L, 3);
      lua_rawseti(L, -2, index + 1);
      vm->declared.whens++;
    }
    lua_settop(L, 2);
  } else if ((kind == RB_DECLARE_QUERY || kind == RB_DECLARE_SINK) && lua_istable(L, 1)) {
    encode_functions(L, kind == RB_DECLARE_QUERY ? "query" : "sink", kind);
    if (rb_push_member(L, 1, "run") == LUA_TNIL && kind == RB_DECLARE_SINK) {
      pass_declaration(L, kind, -1, name, file, line);
      return 0;
    }
    if (!lua_isfunction(L, 2)) return luaL_error(L, "query '%s' has no 'run' function", name.bytes);
  } else {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    vm->result.length = 0;
    rb_append(vm, &vm->result, "{}", 2);
    lua_pushvalue(L, 1);
  }
  pass_declaration(L, kind, index, name, file, line);
  lua_rawgeti(L, LUA_REGISTRYINDEX, slots[kind]);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, index + 1);
  ++*counts[kind];
  return 0;
}

/* `rule "name"`, `query "name"` …: the first call takes the name, the second the body. `rule("name", body)` takes both. */
static int declare_name(lua_State *L) {
  rb_declaration kind = (rb_declaration)lua_tointeger(L, lua_upvalueindex(1));
  loading(L, kind_names[kind]);
  if (lua_type(L, 1) != LUA_TSTRING) return luaL_error(L, "the name of %s must be a string", kind_names[kind]);
  rb_slice name = rb_text_at(L, 1);
  if (!rb_is_utf8(name.bytes, name.length)) return luaL_error(L, "the name of %s is not UTF-8", kind_names[kind]);
  int bodies = lua_gettop(L) - 1;
  int line;
  rb_slice file = position(L, &line);
  lua_pushinteger(L, kind);
  lua_pushvalue(L, 1);
  lua_pushlstring(L, file.bytes, file.length);
  lua_pushinteger(L, line);
  lua_pushcclosure(L, declare_body, 4);
  if (bodies == 0) return 1;
  lua_replace(L, 1);
  lua_call(L, bodies, 0);
  return 0;
}

static int declare_state(lua_State *L) {
  loading(L, "a state");
  luaL_checktype(L, 1, LUA_TTABLE);
  int line;
  rb_slice file = position(L, &line), none = {"", 0};
  rb_encode_result(L, 1, RB_KIND_ERROR, "state");
  pass_declaration(L, RB_DECLARE_STATE, 0, none, file, line);
  return 0;
}

/* Keeps the function that the table on top has under a name as a step; returns whether there is one, as JSON. */
static const char *keep_step(lua_State *L, const char *name, lua_Integer slot) {
  int type = rb_push_member(L, -1, name);
  if (type != LUA_TNIL && type != LUA_TFUNCTION) luaL_error(L, "migrate: '%s' of a step must be a function", name);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_STEPS);
  lua_insert(L, -2);
  lua_rawseti(L, -2, slot);
  lua_pop(L, 1);
  return type == LUA_TFUNCTION ? "true" : "false";
}

/* `migrate { [2] = { up = …, down = … } }` */
static int declare_migrate(lua_State *L) {
  rb_vm *vm = loading(L, "a migration");
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  int line;
  rb_slice file = position(L, &line), none = {"", 0};
  vm->result.length = 0;
  rb_append(vm, &vm->result, "[", 1);
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    lua_Integer version = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
    if (version < 2 || version > STATE_VERSIONS || !lua_istable(L, -1))
      luaL_error(L, "migrate takes steps by the version that they lead to, from 2 on, as in [2] = { up = function(old) … end }");
    lua_pushnil(L);
    while (lua_next(L, -2)) {
      lua_pop(L, 1);
      const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
      if (strcmp(name, "up") != 0 && strcmp(name, "down") != 0) luaL_error(L, "migrate: a step has 'up' and 'down', and nothing else");
    }
    char text[64];
    const char *up = keep_step(L, "up", 2 * version), *down = keep_step(L, "down", 2 * version + 1);
    int length = snprintf(text, sizeof text, "%s[%lld,%s,%s]", vm->result.length > 1 ? "," : "", (long long)version, up, down);
    rb_append(vm, &vm->result, text, (size_t)length);
    lua_pop(L, 1);
  }
  rb_append(vm, &vm->result, "]", 1);
  pass_declaration(L, RB_DECLARE_MIGRATE, 0, none, file, line);
  return 0;
}

void rb_open_declarations(lua_State *L) {
  static const luaL_Reg plain[] = {
      {"plugin", declare_plugin}, {"require", host_require}, {"state", declare_state}, {"migrate", declare_migrate}, {NULL, NULL}};
  luaL_setfuncs(L, plain, 0);
  static const struct {
    const char *name;
    rb_declaration kind;
  } declarations[] = {{"rule", RB_DECLARE_RULE}, {"query", RB_DECLARE_QUERY}, {"web", RB_DECLARE_WEB}, {"sink", RB_DECLARE_SINK},
                      {"test", RB_DECLARE_TEST}, {"event", RB_DECLARE_EVENT}, {"setting", RB_DECLARE_SETTING}};
  for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++) {
    lua_pushinteger(L, declarations[i].kind);
    lua_pushcclosure(L, declare_name, 1);
    lua_setfield(L, -2, declarations[i].name);
  }
}
