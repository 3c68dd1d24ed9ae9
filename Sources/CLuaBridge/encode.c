/*
 * Lua values to JSON: the one way in which state, decisions, effects and messages leave a VM.
 *
 * Members stand in byte order of their names, so that equal values have equal encodings. Integers have no fraction, floats always have
 * one or an exponent, so that both come back as what they were. Only raw content is read: metamethods never run here.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"

typedef struct {
  lua_State *L;
  rb_vm *vm;
  rb_buffer *into;
  rb_kind kind;
  const char *root;
  size_t start, limit; /* where the text begins, and how long it may become */
  const void *open[RB_DEPTH + 1]; /* the tables around the value, to tell cycles */
  int depth;
} encoder;

static void encode_value(encoder *e, int index);

const char rb_decision_root[] = "decision";

static size_t write_root(const encoder *e, char *into, size_t room) {
  const rb_slice key = e->vm->decision;
  int written = e->root == rb_decision_root ? snprintf(into, room, "decision '%.*s'", (int)key.length, key.bytes)
                                            : snprintf(into, room, "%.300s", e->root);
  return written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
}

static _Noreturn void refuse(encoder *e, const char *problem) {
  char path[600];
  size_t length = write_root(e, path, sizeof path);
  for (int i = 0; i < e->depth && length < sizeof path - 1; i++) {
    const rb_step *step = &e->vm->path[i];
    int written;
    if (step->key) {
      written = snprintf(path + length, sizeof path - length, ".%.*s", (int)(step->key_length < 100 ? step->key_length : 100), step->key);
    } else {
      written = snprintf(path + length, sizeof path - length, "[%" PRId64 "]", (int64_t)step->index);
    }
    if (written > 0) length += (size_t)written;
  }
  if (length >= sizeof path) path[sizeof path - 1] = 0;
  rb_raise(e->L, e->kind, "%s %s", path, problem);
  abort();
}

/* The length of the UTF-8 sequence at `bytes`, 0 when it is malformed (RFC 3629). */
static size_t sequence_length(const unsigned char *bytes, size_t left) {
  unsigned char first = bytes[0];
  if (first < 0x80) return 1;
  size_t length = first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  if (length == 0 || left < length) return 0;
  for (size_t i = 1; i < length; i++)
    if ((bytes[i] & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && bytes[1] < 0xA0) return 0;
  if (first == 0xED && bytes[1] > 0x9F) return 0;
  if (first == 0xF0 && bytes[1] < 0x90) return 0;
  if (first == 0xF4 && bytes[1] > 0x8F) return 0;
  return length;
}

static bool is_utf8(const char *bytes, size_t length) {
  size_t i = 0;
  while (i < length) {
    if (length - i >= 8) {
      uint64_t word;
      memcpy(&word, bytes + i, 8);
      if (!(word & UINT64_C(0x8080808080808080))) {
        i += 8;
        continue;
      }
    }
    size_t step = sequence_length((const unsigned char *)bytes + i, length - i);
    if (step == 0) return false;
    i += step;
  }
  return true;
}

void rb_append_json_string(rb_vm *vm, rb_buffer *into, const char *bytes, size_t length) {
  static const char digits[] = "0123456789abcdef";
  rb_append(vm, into, "\"", 1);
  size_t start = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    rb_append(vm, into, bytes + start, i - start);
    start = i + 1;
    char escape[6] = {'\\', 0, '0', '0', 0, 0};
    size_t escape_length = 2;
    switch (byte) {
      case '\n': escape[1] = 'n'; break;
      case '\t': escape[1] = 't'; break;
      case '\r': escape[1] = 'r'; break;
      case '\b': escape[1] = 'b'; break;
      case '\f': escape[1] = 'f'; break;
      case '"':
      case '\\': escape[1] = (char)byte; break;
      default:
        escape[1] = 'u';
        escape[4] = digits[byte >> 4];
        escape[5] = digits[byte & 15];
        escape_length = 6;
    }
    rb_append(vm, into, escape, escape_length);
  }
  rb_append(vm, into, bytes + start, length - start);
  rb_append(vm, into, "\"", 1);
}

static void append_string(encoder *e, const char *bytes, size_t length) {
  if (!is_utf8(bytes, length)) refuse(e, "is a string that is not UTF-8");
  rb_append_json_string(e->vm, e->into, bytes, length);
}

static void append_integer(encoder *e, lua_Integer value) {
  char text[24];
  char *at = text + sizeof text;
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do *--at = (char)('0' + magnitude % 10);
  while ((magnitude /= 10) > 0);
  if (value < 0) *--at = '-';
  rb_append(e->vm, e->into, at, (size_t)(text + sizeof text - at));
}

static void append_number(encoder *e, lua_Number value) {
  if (isnan(value)) refuse(e, "is not a number (NaN), which can't be stored");
  if (isinf(value)) refuse(e, "is infinite, which can't be stored");
  char text[40];
  rb_enter_host(e->vm);
  int length = snprintf(text, sizeof text, "%.15g", value);
  if (strtod(text, NULL) != value) length = snprintf(text, sizeof text, "%.17g", value);
  rb_exit_host(e->vm);
  rb_append(e->vm, e->into, text, (size_t)length);
  if (!strpbrk(text, ".e")) rb_append(e->vm, e->into, ".0", 2);
}

/* Small tables that stand in many places can make a text that no memory holds: it is measured while it grows. */
static void check_size(encoder *e) {
  if (e->into->length - e->start <= e->limit) return;
  char root[320];
  write_root(e, root, sizeof root);
  rb_raise(e->L, e->kind, "%s is larger than %zu KiB", root, e->limit / 1024);
}

static void open_table(encoder *e, int table) {
  const void *address = lua_topointer(e->L, table);
  for (int i = 0; i < e->depth; i++)
    if (e->open[i] == address) refuse(e, "contains itself");
  if (e->depth >= RB_DEPTH) refuse(e, "is nested deeper than 64");
  e->open[e->depth] = address;
  e->depth++;
}

static void encode_array(encoder *e, int table, lua_Integer count) {
  open_table(e, table);
  rb_step *step = &e->vm->path[e->depth - 1];
  rb_append(e->vm, e->into, "[", 1);
  for (lua_Integer i = 1; i <= count; i++) {
    step->key = NULL;
    step->index = i;
    if (i > 1) rb_append(e->vm, e->into, ",", 1);
    lua_rawgeti(e->L, table, i);
    encode_value(e, lua_gettop(e->L));
    check_size(e);
    lua_pop(e->L, 1);
  }
  rb_append(e->vm, e->into, "]", 1);
  e->depth--;
}

static rb_member *add_member(encoder *e) {
  rb_vm *vm = e->vm;
  if (vm->member_count == vm->member_capacity) {
    size_t wanted = vm->member_capacity ? vm->member_capacity * 2 : 256;
    if (wanted * sizeof(rb_member) > vm->memory_budget) rb_leave(vm, RB_MEMORY);
    rb_enter_host(vm);
    rb_member *members = realloc(vm->members, wanted * sizeof *members);
    if (members) {
      vm->members = members;
      vm->member_capacity = wanted;
    }
    rb_exit_host(vm);
    if (!members) rb_leave(vm, RB_MEMORY);
  }
  return &vm->members[vm->member_count++];
}

static int compare_members(const void *left, const void *right) {
  const rb_member *a = left, *b = right;
  size_t shared = a->key_length < b->key_length ? a->key_length : b->key_length;
  int order = memcmp(a->key, b->key, shared);
  return order ? order : (a->key_length > b->key_length) - (a->key_length < b->key_length);
}

static void sort_members(rb_vm *vm, size_t first) {
  rb_member *members = vm->members + first;
  size_t count = vm->member_count - first;
  if (count > 24) {
    rb_enter_host(vm);
    qsort(members, count, sizeof *members, compare_members);
    rb_exit_host(vm);
    return;
  }
  for (size_t i = 1; i < count; i++) {
    rb_member moving = members[i];
    size_t j = i;
    while (j > 0 && compare_members(&members[j - 1], &moving) > 0) {
      members[j] = members[j - 1];
      j--;
    }
    members[j] = moving;
  }
}

/* Notes the pair on top of the stack, whose table stays on the stack below the key. */
static void note_member(encoder *e) {
  lua_State *L = e->L;
  rb_member *member = add_member(e);
  memset(member, 0, sizeof *member);
  member->key = lua_tolstring(L, -2, &member->key_length);
  member->type = lua_type(L, -1);
  switch (member->type) {
    case LUA_TSTRING: member->value.text.bytes = lua_tolstring(L, -1, &member->value.text.length); break;
    case LUA_TBOOLEAN: member->value.integer = lua_toboolean(L, -1); break;
    case LUA_TNUMBER:
      member->is_integer = lua_isinteger(L, -1);
      if (member->is_integer) {
        member->value.integer = lua_tointeger(L, -1);
      } else {
        member->value.number = lua_tonumber(L, -1);
      }
      break;
    case LUA_TTABLE:
      luaL_checkstack(L, 6, "too many tables in one value");
      lua_insert(L, -2);
      member->stack_index = lua_gettop(L) - 1;
      lua_pushnil(L);
      break;
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(L, -1) == &rb_null) member->type = LUA_TNIL;
      break;
    default: break;
  }
  lua_pop(L, 1);
}

static void encode_member(encoder *e, const rb_member *member) {
  switch (member->type) {
    case LUA_TNIL: rb_append(e->vm, e->into, "null", 4); break;
    case LUA_TSTRING: append_string(e, member->value.text.bytes, member->value.text.length); break;
    case LUA_TBOOLEAN: rb_append(e->vm, e->into, member->value.integer ? "true" : "false", member->value.integer ? 4 : 5); break;
    case LUA_TNUMBER:
      if (member->is_integer) {
        append_integer(e, member->value.integer);
      } else {
        append_number(e, member->value.number);
      }
      break;
    case LUA_TTABLE: encode_value(e, member->stack_index); break;
    default: {
      char problem[80];
      snprintf(problem, sizeof problem, "is a %s, which can't be stored", lua_typename(e->L, member->type));
      refuse(e, problem);
    }
  }
}

static void encode_object(encoder *e, int table) {
  lua_State *L = e->L;
  int top = lua_gettop(L);
  open_table(e, table);
  rb_step *step = &e->vm->path[e->depth - 1];
  size_t first = e->vm->member_count;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    if (lua_type(L, -2) != LUA_TSTRING) {
      e->depth--;
      refuse(e, lua_type(L, -2) == LUA_TNUMBER ? "mixes numbers and names as keys, or its numbers are not 1 to n"
                                               : "has a key that is neither a string nor a number");
    }
    note_member(e);
  }
  sort_members(e->vm, first);
  size_t last = e->vm->member_count;
  rb_append(e->vm, e->into, "{", 1);
  for (size_t i = first; i < last; i++) {
    rb_member member = e->vm->members[i];
    step->key = member.key;
    step->key_length = member.key_length;
    if (i > first) rb_append(e->vm, e->into, ",", 1);
    append_string(e, member.key, member.key_length);
    rb_append(e->vm, e->into, ":", 1);
    encode_member(e, &member);
    check_size(e);
  }
  rb_append(e->vm, e->into, "}", 1);
  e->vm->member_count = first;
  e->depth--;
  lua_settop(L, top);
}

/* Whether the table's keys are just 1 to n; `count` gets n. */
static bool is_sequence(lua_State *L, int table, lua_Integer *count) {
  lua_Integer length = (lua_Integer)lua_rawlen(L, table);
  lua_Integer seen = 0;
  bool only = true;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1 || lua_tointeger(L, -1) > length) {
      lua_pop(L, 1);
      only = false;
      break;
    }
    seen++;
  }
  *count = length;
  return only && seen == length;
}

static void encode_table(encoder *e, int table) {
  lua_State *L = e->L;
  luaL_checkstack(L, 10, "too many tables in one value");
  bool array = false;
  bool pushed = rb_push_store(L, table);
  if (pushed) table = lua_gettop(L);
  if (lua_getmetatable(L, table)) {
    lua_pop(L, 1);
    array = rb_is_array(L, table);
    if (!array) refuse(e, "has a metatable, which can't be stored");
  }
  lua_Integer count = 0;
  lua_pushnil(L);
  bool empty = !lua_next(L, table);
  bool numbered = !empty && lua_type(L, -2) == LUA_TNUMBER;
  if (!empty) lua_pop(L, 2);
  if (array || numbered) {
    if (!is_sequence(L, table, &count))
      refuse(e, array ? "is an array with a key that is not one of 1 to n" : "mixes numbers and names as keys, or its numbers are not 1 to n");
    encode_array(e, table, count);
  } else {
    encode_object(e, table);
  }
  if (pushed) lua_pop(L, 1);
}

static void encode_value(encoder *e, int index) {
  lua_State *L = e->L;
  switch (lua_type(L, index)) {
    case LUA_TNIL: rb_append(e->vm, e->into, "null", 4); break;
    case LUA_TBOOLEAN: rb_append(e->vm, e->into, lua_toboolean(L, index) ? "true" : "false", lua_toboolean(L, index) ? 4 : 5); break;
    case LUA_TNUMBER:
      if (lua_isinteger(L, index)) {
        append_integer(e, lua_tointeger(L, index));
      } else {
        append_number(e, lua_tonumber(L, index));
      }
      break;
    case LUA_TSTRING: {
      size_t length;
      const char *bytes = lua_tolstring(L, index, &length);
      append_string(e, bytes, length);
      break;
    }
    case LUA_TTABLE: encode_table(e, index); break;
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(L, index) == &rb_null) {
        rb_append(e->vm, e->into, "null", 4);
        break;
      }
      refuse(e, "is a userdata, which can't be stored");
    default: {
      char problem[80];
      snprintf(problem, sizeof problem, "is a %s, which can't be stored", luaL_typename(L, index));
      refuse(e, problem);
    }
  }
}

void rb_encode_within(lua_State *L, int index, rb_buffer *into, rb_kind kind, const char *root, size_t limit) {
  rb_vm *vm = rb_vm_of(L);
  encoder e = {.L = L, .vm = vm, .into = into, .kind = kind, .root = root, .start = into->length, .limit = limit};
  vm->member_count = 0;
  encode_value(&e, lua_absindex(L, index));
  check_size(&e);
}

void rb_encode(lua_State *L, int index, rb_buffer *into, rb_kind kind, const char *root) {
  rb_encode_within(L, index, into, kind, root, kind == RB_KIND_VALUE ? RB_VALUE_LIMIT : SIZE_MAX);
}
