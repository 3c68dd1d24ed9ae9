/*
 * Reads the bytecode that lua_dump writes for Lua 5.4 (ldump.c, lopcodes.h, and luaG_getfuncline in ldebug.c give the format), to find without
 * running a text which globals it touches in any branch, which constants it passes to them, and which outer locals it assigns.
 */
#include <stdlib.h>

#include "vm.h"

typedef struct {
  const uint8_t *at, *end;
  bool broken;
} reader;

typedef struct {
  uint8_t in_stack, index;
  int outer; /* the outermost function's upvalue, or -1 when it is a local of a function in between */
  bool environment;
} upvalue;

enum { OP_MOVE = 0, OP_LOADK = 3, OP_GETUPVAL = 9, OP_SETUPVAL = 10, OP_GETTABUP = 11, OP_SETTABUP = 15, OP_JMP = 56, OP_CALL = 68, OP_TAILCALL = 69 };
enum { MAX_INSTRUCTIONS = 1 << 22, LINE_UNKNOWN = -0x80 };

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

static rb_slice read_string(reader *r) {
  rb_slice text = {NULL, 0};
  size_t size = read_size(r);
  if (size > 0) {
    text.length = size - 1;
    text.bytes = (const char *)read_block(r, size - 1);
  }
  return text;
}

static uint32_t instruction_at(const uint8_t *code, size_t pc) {
  uint32_t instruction;
  memcpy(&instruction, code + pc * 4, 4);
  return instruction;
}

static bool is_environment(const upvalue *upvalues, size_t count, uint32_t index) {
  return index < count && upvalues[index].environment;
}

/* The first upvalue of a file is its environment. */
static void note_escape(const upvalue *upvalues, size_t count, uint32_t index, const rb_bytecode_visitor *visitor) {
  if (visitor->escaped && index < count && upvalues[index].outer == 0) visitor->escaped(visitor->context);
}

/* Whether the first argument of a call stays as the instruction at `pc` loads it; `"a" .. b` begins with a constant, too. */
static bool stays_argument(const uint8_t *code, size_t length, size_t pc, uint32_t function) {
  while (++pc < length) {
    uint32_t opcode = instruction_at(code, pc) & 0x7f, a = (instruction_at(code, pc) >> 7) & 0xff;
    if (a == function && (opcode == OP_CALL || opcode == OP_TAILCALL)) return true;
    if (a == function + 1 && opcode != OP_JMP) return false;
  }
  return false;
}

static void visit_code(const uint8_t *code, size_t length, const int *lines, const rb_slice *constants, size_t constant_count,
                       const upvalue *upvalues, size_t upvalue_count, bool outermost, const rb_bytecode_visitor *visitor) {
  for (size_t pc = 0; pc < length; pc++) {
    uint32_t instruction = instruction_at(code, pc);
    uint32_t a = (instruction >> 7) & 0xff, b = (instruction >> 16) & 0xff, c = (instruction >> 24) & 0xff;
    int line = lines[pc];
    if (visitor->line && line > 0) visitor->line(visitor->context, line);
    switch (instruction & 0x7f) {
      case OP_GETUPVAL: note_escape(upvalues, upvalue_count, b, visitor); break;
      case OP_SETUPVAL:
        note_escape(upvalues, upvalue_count, b, visitor);
        if (visitor->assigned && b < upvalue_count && upvalues[b].outer >= 0)
          visitor->assigned(visitor->context, upvalues[b].outer, line);
        break;
      case OP_SETTABUP:
        note_escape(upvalues, upvalue_count, a, visitor);
        if (visitor->global && is_environment(upvalues, upvalue_count, a) && b < constant_count && constants[b].bytes) {
          rb_finding finding = {.kind = RB_FIND_GLOBAL_WRITE, .name = constants[b], .line = line, .in_function = !outermost};
          visitor->global(visitor->context, &finding);
        }
        break;
      case OP_GETTABUP:
        if (visitor->global && is_environment(upvalues, upvalue_count, b) && c < constant_count && constants[c].bytes) {
          rb_finding finding = {.kind = RB_FIND_GLOBAL_READ, .name = constants[c], .line = line, .in_function = !outermost};
          visitor->global(visitor->context, &finding);
          /* `name("text" …`: the next instruction loads the first argument after the function. */
          uint32_t next = pc + 1 < length ? instruction_at(code, pc + 1) : 0;
          uint32_t index = next >> 15;
          if ((next & 0x7f) == OP_LOADK && ((next >> 7) & 0xff) == a + 1 && index < constant_count && constants[index].bytes &&
              stays_argument(code, length, pc + 1, a)) {
            finding.kind = RB_FIND_CALL;
            finding.argument = constants[index];
            visitor->global(visitor->context, &finding);
          }
        }
        break;
      default: break;
    }
  }
}

static void read_function(reader *r, const upvalue *outer, size_t outer_count, bool outermost, const rb_bytecode_visitor *visitor);

static void read_body(reader *r, const upvalue *outer, size_t outer_count, bool outermost, const rb_bytecode_visitor *visitor, int first_line,
                      int **lines_memory, rb_slice **constants_memory, upvalue **upvalues_memory) {
  size_t length = read_size(r);
  if (length > MAX_INSTRUCTIONS) r->broken = true;
  if (r->broken) return;
  const uint8_t *code = read_block(r, length * 4);
  size_t constant_count = read_size(r);
  if (r->broken || constant_count > MAX_INSTRUCTIONS) return;
  rb_slice *constants = *constants_memory = calloc(constant_count + 1, sizeof *constants);
  for (size_t i = 0; i < constant_count && !r->broken; i++) {
    switch (read_byte(r)) {
      case 0x03: /* integer */
      case 0x13: read_block(r, 8); break;
      case 0x04: /* short and long strings */
      case 0x14: constants[i] = read_string(r); break;
      default: break;
    }
  }
  size_t upvalue_count = read_size(r);
  if (r->broken || upvalue_count > 255) {
    r->broken = true;
    return;
  }
  upvalue *upvalues = *upvalues_memory = calloc(upvalue_count + 1, sizeof *upvalues);
  for (size_t i = 0; i < upvalue_count; i++) {
    upvalues[i].in_stack = read_byte(r);
    upvalues[i].index = read_byte(r);
    read_byte(r);
    upvalues[i].outer = -1;
    if (outermost) {
      upvalues[i].outer = (int)i;
    } else if (!upvalues[i].in_stack && upvalues[i].index < outer_count) {
      upvalues[i].outer = outer[upvalues[i].index].outer;
      upvalues[i].environment = outer[upvalues[i].index].environment;
    }
  }
  /* The names of upvalues are at the end; find them before the nested functions are read. */
  const uint8_t *nested = r->at;
  size_t nested_count = read_size(r);
  rb_bytecode_visitor silent = {0};
  for (size_t i = 0; i < nested_count && !r->broken; i++) read_function(r, upvalues, upvalue_count, false, &silent);
  size_t line_count = read_size(r);
  const uint8_t *steps = read_block(r, line_count);
  size_t absolute_count = read_size(r);
  if (r->broken || line_count > length || absolute_count > length) {
    r->broken = true;
    return;
  }
  int *lines = *lines_memory = calloc(length + 1, sizeof *lines);
  size_t *absolute_pcs = calloc(absolute_count + 1, sizeof *absolute_pcs);
  int *absolute = calloc(absolute_count + 1, sizeof *absolute);
  for (size_t i = 0; i < absolute_count; i++) {
    absolute_pcs[i] = read_size(r);
    absolute[i] = (int)read_size(r);
  }
  int line = first_line;
  size_t next = 0;
  for (size_t pc = 0; pc < line_count; pc++) {
    if ((int8_t)steps[pc] == LINE_UNKNOWN) {
      if (next < absolute_count && absolute_pcs[next] == pc) line = absolute[next++];
    } else {
      line += (int8_t)steps[pc];
    }
    lines[pc] = line;
  }
  free(absolute_pcs);
  free(absolute);
  for (size_t count = read_size(r); count > 0 && !r->broken; count--) {
    read_string(r);
    read_size(r);
    read_size(r);
  }
  size_t name_count = read_size(r);
  for (size_t i = 0; i < name_count && !r->broken; i++) {
    rb_slice name = read_string(r);
    if (i < upvalue_count && name.bytes && name.length == 4 && memcmp(name.bytes, "_ENV", 4) == 0) upvalues[i].environment = true;
  }
  if (r->broken) return;
  visit_code(code, length, lines, constants, constant_count, upvalues, upvalue_count, outermost, visitor);
  if (visitor->global || visitor->assigned || visitor->line || visitor->escaped) {
    reader again = {nested, r->end, false};
    read_size(&again);
    for (size_t i = 0; i < nested_count && !again.broken; i++) read_function(&again, upvalues, upvalue_count, false, visitor);
  }
}

static void read_function(reader *r, const upvalue *outer, size_t outer_count, bool outermost, const rb_bytecode_visitor *visitor) {
  int *lines = NULL;
  rb_slice *constants = NULL;
  upvalue *upvalues = NULL;
  read_string(r);
  int first_line = (int)read_size(r);
  read_size(r);
  read_block(r, 3);
  if (!r->broken) read_body(r, outer, outer_count, outermost, visitor, first_line, &lines, &constants, &upvalues);
  free(lines);
  free(constants);
  free(upvalues);
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
    read_function(&r, NULL, 0, true, visitor);
  } else {
    r.broken = true;
  }
  bool whole = !r.broken;
  rb_exit_host(vm);
  return whole;
}
