/*
 * The labels of a counter, as Prometheus knows them: names of letters, digits and underscores in byte order, values as text.
 *
 * So labels that give one Prometheus series are one counter. A label without a value is no label.
 */
#include <math.h>
#include <stdlib.h>

#include "vm.h"

/* LIMIT: bytes of the labels as JSON. A label takes at least 7 of them. */
enum { LIMIT = 512, MOST = LIMIT / 7 };

static const char PREFIX[] = "label_";

/* A label, by its offsets in the set's text. */
typedef struct {
  uint16_t name, name_length, value, value_length;
} label;

typedef struct {
  lua_State *L;
  int table, store; /* the table of labels, and the one that has its members */
  size_t used, count;
  bool clashes;
  label clash; /* of those that have the name of another label and a different value, the first in order of names */
  label labels[MOST];
  char text[LIMIT];
} label_set;

static bool is_letter(unsigned char byte) { return (byte | 0x20) - 'a' < 26u || byte == '_'; }

static bool is_digit(unsigned char byte) { return byte - '0' < 10u; }

/* Whether Prometheus, or ruled itself, has a meaning for a label of that name. */
static bool is_reserved(const char *name, size_t length) {
  static const char *const reserved[] = {"counter", "le", "quantile", "job", "instance"};
  if (length >= 2 && name[0] == '_' && name[1] == '_') return true;
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (strlen(reserved[i]) == length && memcmp(reserved[i], name, length) == 0) return true;
  return false;
}

size_t rb_label_name(rb_slice name, char *into) {
  size_t length = 0;
  for (size_t i = 0; i < name.length; i++) {
    unsigned char byte = (unsigned char)name.bytes[i];
    if (is_letter(byte) || is_digit(byte)) {
      into[length++] = (char)byte;
    } else if ((byte & 0xC0) != 0x80) { /* a character of several bytes becomes one underscore */
      into[length++] = '_';
    }
  }
  if (length > 0 && !is_digit((unsigned char)into[0]) && !is_reserved(into, length)) return length;
  memmove(into + sizeof PREFIX - 1, into, length);
  memcpy(into, PREFIX, sizeof PREFIX - 1);
  return length + sizeof PREFIX - 1;
}

/* Whether the pair on top of the stack is a label that can be counted whatever stands beside it. */
static bool is_sound(lua_State *L) {
  if (lua_type(L, -2) != LUA_TSTRING && !lua_isinteger(L, -2)) return false;
  switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN: return true;
    case LUA_TNUMBER: return isfinite(lua_tonumber(L, -1));
    case LUA_TSTRING: {
      size_t length;
      const char *bytes = lua_tolstring(L, -1, &length);
      return rb_is_plain(bytes, length) || rb_is_utf8(bytes, length);
    }
    default: return false;
  }
}

/* Refuses labels that can't be stored, whatever the order in which a table has them: the encoder names the first one in order of names. */
static void check(const label_set *set) {
  lua_State *L = set->L;
  rb_vm *vm = rb_vm_of(L);
  size_t start = vm->operations.bytes.length;
  lua_pushnil(L);
  while (lua_next(L, set->store)) {
    bool sound = is_sound(L);
    lua_pop(L, 1);
    if (sound) continue;
    lua_pop(L, 1);
    rb_encode(L, set->table, &vm->operations.bytes, RB_KIND_VALUE, "labels");
    vm->operations.bytes.length = start;
    return;
  }
}

static _Noreturn void refuse_length(const label_set *set) {
  check(set);
  rb_raise(set->L, RB_KIND_VALUE, "labels are longer than %d bytes as JSON", LIMIT);
  abort();
}

static void make_room(const label_set *set, size_t length) {
  if (length > LIMIT - set->used) refuse_length(set);
}

/* The text of the key at index, which is a name or a position in an array. */
static void add_name(label_set *set, label *label, int key) {
  lua_State *L = set->L;
  lua_pushvalue(L, key);
  rb_slice name = rb_text_at(L, -1);
  make_room(set, name.length + sizeof PREFIX);
  label->name = (uint16_t)set->used;
  label->name_length = (uint16_t)rb_label_name(name, set->text + set->used);
  set->used += label->name_length;
  lua_pop(L, 1);
}

/* The text of the value at index: a string as it is, anything else as JSON. */
static void add_value(label_set *set, label *label, int value) {
  lua_State *L = set->L;
  rb_vm *vm = rb_vm_of(L);
  size_t start = vm->operations.bytes.length;
  rb_slice text;
  if (lua_type(L, value) == LUA_TSTRING) {
    text = rb_text_at(L, value);
  } else {
    rb_encode(L, value, &vm->operations.bytes, RB_KIND_VALUE, "labels");
    text = (rb_slice){vm->operations.bytes.bytes + start, vm->operations.bytes.length - start};
  }
  make_room(set, text.length);
  label->value = (uint16_t)set->used;
  label->value_length = (uint16_t)text.length;
  rb_copy(set->text + set->used, text.bytes, text.length);
  set->used += text.length;
  vm->operations.bytes.length = start;
}

static int compare(const label_set *set, const label *left, const label *right) {
  size_t shorter = left->name_length < right->name_length ? left->name_length : right->name_length;
  int order = memcmp(set->text + left->name, set->text + right->name, shorter);
  return order ? order : (int)left->name_length - (int)right->name_length;
}

static bool has_value(const label_set *set, const label *left, const label *right) {
  return left->value_length == right->value_length &&
         memcmp(set->text + left->value, set->text + right->value, left->value_length) == 0;
}

/* Puts a label into its place among the others. One that has the name of another is the same label, or is kept as the set's clash. */
static void insert(label_set *set, label added) {
  size_t at = set->count;
  int order = 1;
  while (at > 0 && (order = compare(set, &set->labels[at - 1], &added)) > 0) at--;
  if (at > 0 && order == 0) {
    if (has_value(set, &set->labels[at - 1], &added)) return;
    if (!set->clashes || compare(set, &added, &set->clash) < 0) set->clash = added;
    set->clashes = true;
    return;
  }
  if (set->count == MOST) refuse_length(set);
  memmove(&set->labels[at + 1], &set->labels[at], (set->count - at) * sizeof added);
  set->labels[at] = added;
  set->count++;
}

static void add_all(label_set *set) {
  lua_State *L = set->L;
  lua_pushnil(L);
  while (lua_next(L, set->store)) {
    int value = lua_gettop(L);
    if (!is_sound(L)) check(set);
    bool is_empty = lua_type(L, value) == LUA_TLIGHTUSERDATA || (lua_type(L, value) == LUA_TSTRING && lua_rawlen(L, value) == 0);
    if (!is_empty) {
      label added = {0};
      add_name(set, &added, value - 1);
      add_value(set, &added, value);
      insert(set, added);
    }
    lua_settop(L, value - 1);
  }
  if (set->clashes)
    rb_raise(L, RB_KIND_VALUE, "two labels are '%.*s' in Prometheus, with different values", (int)set->clash.name_length,
             set->text + set->clash.name);
}

static void write_labels(const label_set *set) {
  rb_vm *vm = rb_vm_of(set->L);
  rb_buffer *into = &vm->operations.bytes;
  size_t start = into->length;
  rb_append(vm, into, "{", 1);
  for (size_t i = 0; i < set->count; i++) {
    const label *label = &set->labels[i];
    if (i > 0) rb_append(vm, into, ",", 1);
    rb_append_json_string(vm, into, set->text + label->name, label->name_length);
    rb_append(vm, into, ":", 1);
    rb_append_json_string(vm, into, set->text + label->value, label->value_length);
  }
  rb_append(vm, into, "}", 1);
  if (into->length - start > LIMIT) refuse_length(set);
}

void rb_encode_labels(lua_State *L, int table) {
  label_set set;
  set.L = L;
  set.table = set.store = table;
  set.used = set.count = 0;
  set.clashes = false;
  if (!lua_isnil(L, table)) {
    luaL_checktype(L, table, LUA_TTABLE);
    int top = lua_gettop(L);
    if (rb_push_store(L, table)) set.store = top + 1;
    if (lua_getmetatable(L, set.store) && !rb_is_array(L, set.store)) rb_raise(L, RB_KIND_VALUE, "labels have a metatable: give a plain table");
    lua_settop(L, set.store > top ? set.store : top);
    add_all(&set);
    lua_settop(L, top);
  }
  write_labels(&set);
}
