/*
 * Reads the bytecode that lua_dump writes for Lua 5.4 (ldump.c, lopcodes.h, and luaG_getfuncline in ldebug.c give the format), to find without
 * running a text which lines have code, which outer locals it assigns, and how it uses its environment.
 */
#include "vm.h"

typedef struct {
  const uint8_t *at, *end;
  bool broken;
} reader;

enum { OP_GETUPVAL = 9, OP_SETUPVAL = 10, OP_SETTABUP = 15 };
enum { MAX_INSTRUCTIONS = 1 << 22, MAX_UPVALUES = 255, LINE_UNKNOWN = -0x80 };

static uint8_t read_byte(reader *r) {
  if (r->at >= r->end) {
    r->broken = true;
    return 0;
  }
  return *r->at++;
}

static size_t read_size(reader *r) {
  size_t value = 0;
  for (int i = 0; i < 10; i++) {
    uint8_t byte = read_byte(r);
    value = (value << 7) | (byte & 0x7f);
    if (byte & 0x80 || r->broken) break;
  }
  return value;
}

static const uint8_t *read_block(reader *r, size_t length) {
  if ((size_t)(r->end - r->at) < length) {
    r->broken = true;
    return r->end;
  }
  const uint8_t *block = r->at;
  r->at += length;
  return block;
}

static void skip_string(reader *r) {
  size_t size = read_size(r);
  if (size > 0) read_block(r, size - 1);
}

static void skip_constants(reader *r) {
  for (size_t count = read_size(r); count > 0 && !r->broken; count--) {
    switch (read_byte(r)) {
      case 0x03: /* integer */
      case 0x13: read_block(r, 8); break;
      case 0x04: /* short and long strings */
      case 0x14: skip_string(r); break;
      default: break;
    }
  }
}

/* The upvalues of a function are those of the outermost one, or -1 for locals of a function in between. */
static void visit(uint32_t instruction, int line, const int *upvalues, size_t count, const rb_bytecode_visitor *visitor) {
  uint32_t a = (instruction >> 7) & 0xff, b = (instruction >> 16) & 0xff, opcode = instruction & 0x7f;
  if (visitor->line && line > 0) visitor->line(visitor->context, line);
  if (opcode != OP_GETUPVAL && opcode != OP_SETUPVAL && opcode != OP_SETTABUP) return;
  uint32_t index = opcode == OP_SETTABUP ? a : b;
  if (index >= count) return;
  /* The first upvalue of a file is its environment. */
  if (visitor->escaped && upvalues[index] == 0) visitor->escaped(visitor->context);
  if (visitor->assigned && opcode == OP_SETUPVAL && upvalues[index] >= 0) visitor->assigned(visitor->context, upvalues[index], line);
}

/* Visits a function after those in it; `outer` is NULL for the outermost one. */
static void read_function(reader *r, const int *outer, size_t outer_count, const rb_bytecode_visitor *visitor) {
  skip_string(r);
  int line = (int)read_size(r);
  read_size(r);
  read_block(r, 3);
  size_t length = read_size(r);
  if (length > MAX_INSTRUCTIONS) r->broken = true;
  if (r->broken) return;
  const uint8_t *code = read_block(r, length * 4);
  skip_constants(r);
  int upvalues[MAX_UPVALUES];
  size_t count = read_size(r);
  if (count > MAX_UPVALUES) r->broken = true;
  if (r->broken) return;
  for (size_t i = 0; i < count; i++) {
    bool in_stack = read_byte(r);
    uint8_t index = read_byte(r);
    read_byte(r);
    upvalues[i] = !outer ? (int)i : !in_stack && index < outer_count ? outer[index] : -1;
  }
  for (size_t nested = read_size(r); nested > 0 && !r->broken; nested--) read_function(r, upvalues, count, visitor);
  size_t line_count = read_size(r);
  const uint8_t *steps = read_block(r, line_count);
  size_t absolute_count = read_size(r);
  if (line_count > length || absolute_count > length) r->broken = true;
  for (size_t pc = 0; pc < length && !r->broken; pc++) {
    if (pc < line_count && (int8_t)steps[pc] != LINE_UNKNOWN) {
      line += (int8_t)steps[pc];
    } else if (pc < line_count && absolute_count > 0) {
      absolute_count--;
      read_size(r);
      line = (int)read_size(r);
    }
    uint32_t instruction;
    memcpy(&instruction, code + pc * 4, 4);
    visit(instruction, pc < line_count ? line : 0, upvalues, count, visitor);
  }
  for (size_t locals = read_size(r); locals > 0 && !r->broken; locals--) {
    skip_string(r);
    read_size(r);
    read_size(r);
  }
  for (size_t names = read_size(r); names > 0 && !r->broken; names--) skip_string(r);
}

static int append_dump(lua_State *L, const void *bytes, size_t length, void *context) {
  rb_append(rb_vm_of(L), context, bytes, length);
  return 0;
}

void rb_dump(lua_State *L, rb_buffer *into, bool strip) {
  into->length = 0;
  lua_dump(L, append_dump, into, strip);
}

bool rb_walk_bytecode(lua_State *L, const rb_bytecode_visitor *visitor) {
  rb_vm *vm = rb_vm_of(L);
  rb_buffer *dump = &vm->scratch;
  rb_dump(L, dump, false);
  static const uint8_t header[] = {0x1b, 'L', 'u', 'a', 0x54, 0x00, 0x19, 0x93, '\r', '\n', 0x1a, '\n', 4, 8, 8};
  reader r = {(const uint8_t *)dump->bytes, (const uint8_t *)dump->bytes + dump->length, false};
  rb_enter_host(vm);
  const uint8_t *start = read_block(&r, sizeof header);
  if (!r.broken && memcmp(start, header, sizeof header) == 0) {
    read_block(&r, 16);
    read_byte(&r);
    read_function(&r, NULL, 0, visitor);
  } else {
    r.broken = true;
  }
  bool whole = !r.broken;
  rb_exit_host(vm);
  return whole;
}
