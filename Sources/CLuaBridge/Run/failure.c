#include <stdarg.h>
#include <stdio.h>

#include "vm.h"

const char rb_null = 0;

void rb_push_display(lua_State *L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TSTRING: lua_pushvalue(L, index); break;
    case LUA_TNUMBER:
      lua_pushvalue(L, index);
      lua_tolstring(L, -1, NULL);
      break;
    case LUA_TBOOLEAN: lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false"); break;
    case LUA_TNIL: lua_pushliteral(L, "nil"); break;
    case LUA_TLIGHTUSERDATA: lua_pushstring(L, lua_touserdata(L, index) == &rb_null ? "null" : "userdata"); break;
    default: lua_pushstring(L, luaL_typename(L, index)); break;
  }
}

/* Places ----------------------------------------------------------------------------------------------------------------------- */

static void set_position(rb_vm *vm, const char *file, size_t length, int line) {
  rb_set(vm, &vm->failure.file, file, length);
  vm->failure.line = line;
}

/* Moves a leading `file:line: ` of a message to the failure's position. */
static const char *take_position(rb_vm *vm, const char *message, size_t *length) {
  const char *colon = memchr(message, ':', *length);
  while (colon) {
    const char *digit = colon + 1, *end = message + *length;
    int line = 0;
    while (digit < end && *digit >= '0' && *digit <= '9' && line < 100000000) line = line * 10 + (*digit++ - '0');
    if (digit > colon + 1 && digit + 1 < end && digit[0] == ':' && digit[1] == ' ') {
      if (memchr(message, ' ', (size_t)(colon - message))) return message;
      set_position(vm, message, (size_t)(colon - message), line);
      *length -= (size_t)(digit + 2 - message);
      return digit + 2;
    }
    colon = memchr(colon + 1, ':', (size_t)(end - colon - 1));
  }
  return message;
}

/* Replaces the failure's file with `path` if it is a shortened form of it. */
static bool take_whole(rb_vm *vm, const char *path, size_t length) {
  const rb_buffer *file = &vm->failure.file;
  size_t end = file->length - 3;
  if (length <= end || memcmp(path + length - end, file->bytes + 3, end) != 0) return false;
  rb_set(vm, &vm->failure.file, path, length);
  return true;
}

void rb_compile(lua_State *L, rb_slice text, rb_slice path) {
  rb_vm *vm = rb_vm_of(L);
  lua_pushliteral(L, "@");
  lua_pushlstring(L, path.bytes, path.length);
  lua_concat(L, 2);
  rb_set(vm, &vm->failure.compiling, path.bytes, path.length);
  if (luaL_loadbufferx(L, text.bytes ? text.bytes : "", text.length, lua_tostring(L, -1), "t") != LUA_OK) lua_error(L);
  vm->failure.compiling.length = 0;
  lua_remove(L, -2);
}

/* Lua shortens long paths in messages. Finds the whole path: of the file that is compiled, or of a function on the stack. */
static void complete_path(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  if (vm->failure.file.length < 3 || memcmp(vm->failure.file.bytes, "...", 3) != 0) return;
  if (take_whole(vm, vm->failure.compiling.bytes, vm->failure.compiling.length)) return;
  lua_Debug frame;
  for (int level = 1; level < 200 && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "S", &frame);
    if (frame.source[0] == '@' && take_whole(vm, frame.source + 1, frame.srclen - 1)) return;
  }
}

static void write_place(lua_State *L, rb_buffer *place) {
  rb_vm *vm = rb_vm_of(L);
  place->length = 0;
  lua_Debug frame;
  for (int level = 0; level < 200 && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sln", &frame);
    if (frame.source[0] != '@' || frame.currentline <= 0) continue;
    char line[32];
    rb_append(vm, place, frame.source + 1, frame.srclen - 1);
    rb_append(vm, place, line, (size_t)snprintf(line, sizeof line, ":%d\t", frame.currentline));
    if (frame.name) rb_append(vm, place, frame.name, strlen(frame.name));
    rb_append(vm, place, "\n", 1);
  }
}

int rb_note_place(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  if (!vm->failure.keeps_place) write_place(L, &vm->failure.place);
  vm->failure.keeps_place = false;
  return 1;
}

void rb_keep_place(rb_vm *vm, bool has_place) {
  vm->failure.keeps_place = true;
  if (!has_place) vm->failure.place.length = 0;
}

void rb_set_in_test(rb_vm *vm, bool in_test) {
  vm->failure.in_test = in_test;
  if (!in_test) return;
  vm->failure.keeps_place = false;
  vm->failure.compared = false;
  vm->failure.place.length = 0;
}

void rb_note_comparison(rb_vm *vm) { vm->failure.compared = true; }

bool rb_test_compared(const rb_vm *vm) { return vm->failure.compared; }

rb_slice rb_failed_place(const rb_vm *vm) { return (rb_slice){vm->failure.place.bytes, vm->failure.place.length}; }

rb_slice rb_test_place(rb_vm *vm) {
  write_place(vm->L, &vm->failure.here);
  return (rb_slice){vm->failure.here.bytes, vm->failure.here.length};
}

/* Failures --------------------------------------------------------------------------------------------------------------------- */

static int describe_error(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  vm->failure.kind = RB_KIND_ERROR;
  vm->failure.line = 0;
  rb_set(vm, &vm->failure.file, "", 0);
  size_t length = 0;
  const char *message;
  if (lua_type(L, 1) == LUA_TSTRING) {
    message = lua_tolstring(L, 1, &length);
    if (vm->failure.raised_message.length == length && length > 0 && memcmp(vm->failure.raised_message.bytes, message, length) == 0)
      vm->failure.kind = vm->failure.raised_kind;
    if (length > 2048) length = 2048;
    message = take_position(vm, message, &length);
    complete_path(L);
  } else {
    rb_push_display(L, 1);
    lua_pushfstring(L, "an error that is no message: %s", lua_tostring(L, -1));
    message = lua_tolstring(L, -1, &length);
  }
  rb_set(vm, &vm->failure.message, message, length);
  if (vm->failure.in_test) rb_note_place(L);
  lua_Debug frame;
  for (int level = 1; vm->failure.line == 0 && level < 200 && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline > 0 && frame.source[0] == '@')
      set_position(vm, frame.source + 1, strlen(frame.source + 1), frame.currentline);
  }
  lua_settop(L, 1);
  return 1;
}

rb_failure rb_failure_of(const rb_vm *vm) {
  return (rb_failure){.kind = vm->failure.kind,
                      .message = {vm->failure.message.bytes, vm->failure.message.length},
                      .file = {vm->failure.file.bytes, vm->failure.file.length},
                      .line = vm->failure.line};
}

static void describe_stop(rb_vm *vm, rb_status status) {
  const char *text;
  switch (status) {
    case RB_INSTRUCTIONS:
      vm->failure.kind = RB_KIND_INSTRUCTIONS;
      text = "stopped: more instructions than its budget allows";
      break;
    case RB_MEMORY:
      vm->failure.kind = RB_KIND_MEMORY;
      text = "stopped: more memory than its budget allows";
      break;
    default:
      vm->failure.kind = RB_KIND_TIME;
      text = "stopped: more processor time than its budget allows";
      break;
  }
  rb_set(vm, &vm->failure.message, text, strlen(text));
  const char *source = vm->limits.stopped_source ? vm->limits.stopped_source : "";
  rb_set(vm, &vm->failure.file, source, strlen(source));
  vm->failure.line = vm->limits.stopped_source ? vm->limits.stopped_line : 0;
}

int rb_raise(lua_State *L, rb_kind kind, const char *format, ...) {
  rb_vm *vm = rb_vm_of(L);
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  rb_enter_host(vm);
  int length = vsnprintf(text, sizeof text, format, arguments);
  rb_exit_host(vm);
  va_end(arguments);
  if (length < 0) length = 0;
  if ((size_t)length >= sizeof text) length = sizeof text - 1;
  luaL_where(L, 1);
  lua_pushlstring(L, text, (size_t)length);
  lua_concat(L, 2);
  size_t whole;
  const char *message = lua_tolstring(L, -1, &whole);
  vm->failure.raised_kind = kind;
  rb_set(vm, &vm->failure.raised_message, message, whole);
  return lua_error(L);
}

rb_status rb_protect(rb_vm *vm, lua_CFunction function, void *argument) {
  if (vm->limits.dead) return RB_TIME;
  sigjmp_buf escape;
  rb_worker *worker = vm->limits.worker->acting;
  rb_vm *outer = worker->current;
  sigjmp_buf *outer_escape = vm->limits.escape;
  int top = lua_gettop(vm->L);
  int left = sigsetjmp(escape, 0);
  if (left != 0) {
    vm->limits.running = 0;
    vm->limits.in_host = 0;
    vm->limits.escape = outer_escape;
    worker->current = outer;
    vm->limits.stopped = (rb_status)left;
    describe_stop(vm, (rb_status)left);
    return (rb_status)left;
  }
  vm->failure.kind = RB_KIND_ERROR;
  vm->failure.message.length = vm->failure.file.length = 0;
  vm->failure.line = 0;
  vm->limits.escape = &escape;
  worker->current = vm;
  vm->limits.running = 1;
  lua_pushcfunction(vm->L, describe_error);
  lua_pushcfunction(vm->L, function);
  lua_pushlightuserdata(vm->L, argument);
  int status = lua_pcall(vm->L, 1, 0, top + 1);
  vm->limits.running = 0;
  lua_settop(vm->L, top);
  vm->limits.escape = outer_escape;
  worker->current = outer;
  if (status == LUA_OK) return RB_OK;
  if (status == LUA_ERRERR && vm->failure.message.length == 0)
    rb_set(vm, &vm->failure.message, "an error within the handling of an error", 40);
  return RB_FAILED;
}

void rb_forget_error(rb_vm *vm) { vm->failure.raised_message.length = 0; }
