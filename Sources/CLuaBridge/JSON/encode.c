/*
 * Lua values to JSON: the one way in which state, decisions, effects and messages leave a VM.
 *
 * Members are in byte order of their names, so that equal values have equal encodings. Integers have no fraction, floats always have a
 * fraction or an exponent, so that each is read back as its kind. Metamethods never run here: only raw content is read.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "vm.h"

typedef struct {
  lua_State *L;
  rb_vm *vm;
  rb_buffer *into;
  rb_kind kind;
  const char *root;
  size_t start, limit; /* where the text begins, and how long it may become */
  const void *open[RB_DEPTH + 1]; /* the tables around the value, to tell cycles */
  size_t parts;                   /* how many tables and named members it has */
  int depth;
} encoder;

/* The longest JSON of a value. */
enum { VALUE_LIMIT = 1024 * 1024 };

static void encode_value(encoder *e, int index);

const char rb_decision_root[] = "decision";

static size_t write_root(const encoder *e, char *into, size_t room) {
  const rb_slice key = e->vm->encoding.decision;
  int written = e->root == rb_decision_root ? snprintf(into, room, "decision '%.*s'", (int)key.length, key.bytes)
                                            : snprintf(into, room, "%.300s", e->root);
  return written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
}

/* Keeps the place of the value in the state: the first `depth` steps of the path. */
static void note_bad(rb_vm *vm, int depth) {
  rb_bad_place *bad = &vm->encoding.bad;
  bad->keys.length = 0;
  bad->depth = depth;
  for (int i = 0; i < depth; i++) {
    const rb_step *step = &vm->encoding.path[i];
    rb_bad_step *noted = &bad->steps[i];
    noted->is_key = step->key != NULL;
    noted->index = step->index;
    noted->key = bad->keys.length;
    noted->key_length = step->key ? step->key_length : 0;
    if (step->key) rb_append(vm, &bad->keys, step->key, step->key_length);
  }
}

void rb_keep_bad_place(rb_vm *vm, bool stays) { vm->encoding.bad.stays = stays; }

const rb_bad_place *rb_last_bad_place(const rb_vm *vm) { return &vm->encoding.bad; }

static _Noreturn void refuse(encoder *e, const char *problem) {
  char path[600];
  size_t length = write_root(e, path, sizeof path);
  for (int i = 0; i < e->depth && length < sizeof path - 1; i++) {
    const rb_step *step = &e->vm->encoding.path[i];
    int written;
    if (step->key) {
      written = snprintf(path + length, sizeof path - length, ".%.*s", (int)(step->key_length < 100 ? step->key_length : 100), step->key);
    } else {
      written = snprintf(path + length, sizeof path - length, "[%" PRId64 "]", (int64_t)step->index);
    }
    if (written > 0) length += (size_t)written;
  }
  if (length >= sizeof path) path[sizeof path - 1] = 0;
  if (e->kind == RB_KIND_STATE && !e->vm->encoding.bad.stays) note_bad(e->vm, e->depth);
  rb_raise(e->L, e->kind, "%s %s", path, problem);
  abort();
}

_Noreturn void rb_refuse_state(lua_State *L, int depth, const char *problem) {
  encoder e = {.L = L, .vm = rb_vm_of(L), .kind = RB_KIND_STATE, .root = "state", .depth = depth};
  refuse(&e, problem);
}

/* Appends a string; false, and appends nothing, if it is not UTF-8. */
static inline bool append_text(encoder *e, const char *bytes, size_t length) {
  if (length <= 16 && rb_is_plain(bytes, length)) {
    char *out = rb_reserve(e->vm, e->into, length + 2);
    out[0] = '"';
    rb_copy(out + 1, bytes, length);
    out[length + 1] = '"';
    e->into->length += length + 2;
    return true;
  }
  return rb_append_json_string(e->vm, e->into, bytes, length);
}

static inline void append_string(encoder *e, const char *bytes, size_t length) {
  if (!append_text(e, bytes, length)) refuse(e, "is a string that is not UTF-8");
}

static void append_number(encoder *e, lua_Number value) {
  if (isnan(value)) refuse(e, "is not a number (NaN), which can't be stored");
  if (isinf(value)) refuse(e, "is infinite, which can't be stored");
  rb_append_number(e->vm, e->into, value);
}

static void append_boolean(encoder *e, bool value) { rb_append(e->vm, e->into, value ? "true" : "false", value ? 4 : 5); }

static inline void append_byte(encoder *e, char byte) {
  *rb_reserve(e->vm, e->into, 1) = byte;
  e->into->length++;
}

/* The name of the longest member of an object, of which the text may be the beginning only; sets the member's size. */
static rb_slice longest_member(rb_slice text, size_t *size) {
  rb_slice longest = {0}, name = {0};
  const char *begun = text.bytes;
  bool quoted = false;
  int depth = 0;
  *size = 0;
  for (size_t i = 0; i <= text.length; i++) {
    const char *at = text.bytes + i, byte = i < text.length ? *at : 0;
    if (byte == '\\') i++;
    if (byte == '"') quoted = !quoted;
    if (quoted && byte) continue;
    depth += (byte == '{' || byte == '[') - (byte == '}' || byte == ']');
    if (byte == ':' && depth == 1) name = (rb_slice){begun + 2, (size_t)(at - begun - 3)};
    if (byte && (byte != ',' || depth != 1)) continue;
    if ((size_t)(at - begun) > *size) {
      *size = (size_t)(at - begun);
      longest = name;
    }
    begun = at;
  }
  return longest;
}

/* A small table that occurs many times can make a text larger than memory: check the length while it grows. */
static _Noreturn void refuse_size(encoder *e) {
  char root[320];
  write_root(e, root, sizeof root);
  size_t size;
  rb_slice member = longest_member((rb_slice){e->into->bytes + e->start, e->into->length - e->start}, &size);
  if (e->into->bytes[e->start] == '{' && size > e->limit / 4)
    rb_raise(e->L, e->kind, "%s is larger than %zu KiB; '%.*s' has %zu KiB", root, e->limit / 1024,
             (int)(member.length < 100 ? member.length : 100), member.bytes, size / 1024);
  rb_raise(e->L, e->kind, "%s is larger than %zu KiB", root, e->limit / 1024);
  abort();
}

static inline void check_size(encoder *e) {
  if (e->into->length - e->start > e->limit) refuse_size(e);
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
  rb_step *step = &e->vm->encoding.path[e->depth - 1];
  append_byte(e, '[');
  for (lua_Integer i = 1; i <= count; i++) {
    step->key = NULL;
    step->index = i;
    if (i > 1) append_byte(e, ',');
    lua_rawgeti(e->L, table, i);
    encode_value(e, lua_gettop(e->L));
    check_size(e);
    lua_pop(e->L, 1);
  }
  append_byte(e, ']');
  e->depth--;
}

/* Appends a byte, then a member's key. */
static inline void append_key(encoder *e, const rb_member *member, char before) {
  const rb_label *label = member->label;
  /* The label's slot may have been reused since. */
  if (label && label->key == member->key) {
    char *out = rb_reserve(e->vm, e->into, 1 + sizeof label->text);
    *out = before;
    memcpy(out + 1, label->text, sizeof label->text);
    e->into->length += label->key_length + 4u;
    return;
  }
  append_byte(e, before);
  if (!append_text(e, member->key, member->key_length)) {
    e->depth--;
    refuse(e, "has a key that is not UTF-8");
  }
  append_byte(e, ':');
}

/* Fast path for the common member that has a label and is an integer: appends byte, key and number; false for any other. */
static inline bool append_integer_member(encoder *e, const rb_member *member, char before) {
  const rb_label *label = member->label;
  if (!member->is_integer || !label || label->key != member->key) return false;
  char *out = rb_reserve(e->vm, e->into, 1 + sizeof label->text + RB_INTEGER_ROOM);
  *out = before;
  memcpy(out + 1, label->text, sizeof label->text);
  out = rb_write_integer(out + label->key_length + 4, member->value.integer);
  e->into->length = (size_t)(out - e->into->bytes);
  return true;
}

static void encode_member(encoder *e, const rb_member *member) {
  switch (member->type) {
    case LUA_TNIL: rb_append(e->vm, e->into, "null", 4); break;
    case LUA_TSTRING: append_string(e, member->value.text.bytes, member->value.text.length); break;
    case LUA_TBOOLEAN: append_boolean(e, member->value.integer); break;
    case LUA_TNUMBER:
      if (member->is_integer) {
        rb_append_integer(e->vm, e->into, member->value.integer);
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

/* Encodes a table's members; the first pair is on top of the stack. Does not restore the stack. */
static void encode_object(encoder *e, int table) {
  lua_State *L = e->L;
  open_table(e, table);
  rb_step *step = &e->vm->encoding.path[e->depth - 1];
  size_t first = e->vm->members.count;
  do {
    if (!rb_note_member(L, e->vm)) {
      e->depth--;
      refuse(e, lua_type(L, -2) == LUA_TNUMBER ? "mixes numbers and names as keys, or its numbers are not 1 to n"
                                               : "has a key that is neither a string nor a number");
    }
  } while (lua_next(L, table));
  rb_rank_members(e->vm, first);
  size_t last = e->vm->members.count;
  e->parts += last - first;
  for (size_t i = first; i < last; i++) {
    const rb_member *member = &e->vm->members.all[first + e->vm->members.all[i].ranked];
    char before = i > first ? ',' : '{';
    if (!append_integer_member(e, member, before)) {
      step->key = member->key;
      step->key_length = member->key_length;
      append_key(e, member, before);
      encode_member(e, member);
    }
    check_size(e);
  }
  append_byte(e, '}');
  e->vm->members.count = first;
  e->depth--;
}

/* Whether the table's keys are exactly 1 to n; sets `count` to n. */
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
  e->parts++;
  int top = lua_gettop(L);
  bool array = false;
  if (lua_getmetatable(L, table)) {
    lua_pop(L, 1);
    if (rb_push_store(L, table)) table = lua_gettop(L);
    if (lua_getmetatable(L, table)) {
      lua_pop(L, 1);
      array = rb_is_array(L, table);
      if (!array) refuse(e, "has a metatable, which can't be stored");
    }
  }
  lua_pushnil(L);
  bool empty = !lua_next(L, table);
  if (array || (!empty && lua_type(L, -2) == LUA_TNUMBER)) {
    if (!empty) lua_pop(L, 2);
    lua_Integer count = 0;
    if (!is_sequence(L, table, &count))
      refuse(e, array ? "is an array with a key that is not one of 1 to n" : "mixes numbers and names as keys, or its numbers are not 1 to n");
    encode_array(e, table, count);
  } else if (empty) {
    if (e->depth >= RB_DEPTH) refuse(e, "is nested deeper than 64");
    rb_append(e->vm, e->into, e->kind == RB_KIND_STATE && rb_declares_array(e->vm, e->depth) ? "[]" : "{}", 2);
  } else {
    encode_object(e, table);
  }
  lua_settop(L, top);
}

static void encode_value(encoder *e, int index) {
  lua_State *L = e->L;
  switch (lua_type(L, index)) {
    case LUA_TNIL: rb_append(e->vm, e->into, "null", 4); break;
    case LUA_TBOOLEAN: append_boolean(e, lua_toboolean(L, index)); break;
    case LUA_TNUMBER:
      if (lua_isinteger(L, index)) {
        rb_append_integer(e->vm, e->into, lua_tointeger(L, index));
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
  encoder e;
  e.L = L;
  e.vm = vm;
  e.into = into;
  e.kind = kind;
  e.root = root;
  e.start = into->length;
  e.limit = limit;
  e.parts = 0;
  e.depth = 0;
  vm->members.count = 0;
  encode_value(&e, lua_absindex(L, index));
  check_size(&e);
  vm->encoding.parts = e.parts;
}

void rb_encode(lua_State *L, int index, rb_buffer *into, rb_kind kind, const char *root) {
  rb_encode_within(L, index, into, kind, root, kind == RB_KIND_VALUE ? VALUE_LIMIT : SIZE_MAX);
}

rb_slice rb_encode_result(lua_State *L, int index, rb_kind kind, const char *root) {
  rb_buffer *result = &rb_vm_of(L)->result;
  result->length = 0;
  rb_encode(L, index, result, kind, root);
  return (rb_slice){result->bytes, result->length};
}
