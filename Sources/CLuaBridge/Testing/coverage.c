/* The lines of a plugin's files that ran, for `rulectl test --coverage`. */
#include <stdlib.h>

#include "vm.h"

static rb_covered *covered_source(rb_vm *vm, const char *source) {
  if (vm->coverage.last == source && vm->coverage.index < vm->coverage.count) return &vm->coverage.sources[vm->coverage.index];
  size_t length = strlen(source);
  size_t i = 0;
  while (i < vm->coverage.count &&
         (vm->coverage.sources[i].source.length != length || memcmp(vm->coverage.sources[i].source.bytes, source, length) != 0))
    i++;
  if (i == vm->coverage.count) {
    rb_covered *all = realloc(vm->coverage.sources, (i + 1) * sizeof *all);
    if (!all) return NULL;
    memset(&all[i], 0, sizeof *all);
    vm->coverage.sources = all;
    vm->coverage.count++;
    rb_set(vm, &all[i].source, source, length);
  }
  vm->coverage.last = source;
  vm->coverage.index = i;
  return &vm->coverage.sources[i];
}

static void note_line(lua_State *L, lua_Debug *activation) {
  rb_vm *vm = rb_vm_of(L);
  lua_getinfo(L, "S", activation);
  int line = activation->currentline;
  if (activation->source[0] != '@' || line <= 0) return;
  rb_enter_host(vm);
  rb_covered *covered = covered_source(vm, activation->source + 1);
  if (covered && line >= covered->lines) {
    int wanted = line * 2 + 64;
    uint64_t *runs = realloc(covered->runs, (size_t)wanted * sizeof *runs);
    if (runs) {
      memset(runs + covered->lines, 0, (size_t)(wanted - covered->lines) * sizeof *runs);
      covered->runs = runs;
      covered->lines = wanted;
    }
  }
  if (covered && line < covered->lines) covered->runs[line]++;
  rb_exit_host(vm);
}

void rb_coverage_free(rb_vm *vm) {
  for (size_t i = 0; i < vm->coverage.count; i++) {
    free(vm->coverage.sources[i].source.bytes);
    free(vm->coverage.sources[i].runs);
  }
  free(vm->coverage.sources);
}

/* The instructions of a call of `__covered`, which a rule is not charged for. */
enum { COVERED_COST = 4 };

static int note_covered(lua_State *L) {
  rb_vm *vm = rb_vm_of(L);
  rb_value part = {.type = RB_INTEGER, .integer = lua_tointeger(L, 1)}, results[4];
  rb_take_instructions(vm, -COVERED_COST);
  rb_enter_host(vm);
  vm->host.call(vm->context, RB_CALL_COVERED, &part, 1, results);
  rb_exit_host(vm);
  lua_pushboolean(L, true);
  return 1;
}

static int start_body(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);
  lua_pushliteral(L, "__covered");
  lua_pushcfunction(L, note_covered);
  lua_rawset(L, -3);
  return 0;
}

rb_status rb_coverage_start(rb_vm *vm) {
  rb_watch_lines(vm, note_line);
  return rb_protect(vm, start_body, NULL);
}

void rb_coverage_runs(const rb_vm *vm, void *context, void (*report)(void *, rb_slice, int, uint64_t)) {
  for (size_t i = 0; i < vm->coverage.count; i++) {
    const rb_covered *covered = &vm->coverage.sources[i];
    rb_slice path = {covered->source.bytes, covered->source.length};
    for (int line = 1; line < covered->lines; line++)
      if (covered->runs[line]) report(context, path, line, covered->runs[line]);
  }
}

typedef struct {
  rb_slice text, path;
  const rb_covered *covered;
  uint8_t *seen;
  int lines;
  void *context;
  void (*report)(void *context, int line, uint64_t runs);
} line_report;

static void report_line(void *context, int line) {
  line_report *report = context;
  if (line >= report->lines || report->seen[line]) return;
  report->seen[line] = 1;
  uint64_t runs = report->covered && line < report->covered->lines ? report->covered->runs[line] : 0;
  report->report(report->context, line, runs);
}

static int coverage_body(lua_State *L) {
  line_report *report = lua_touserdata(L, 1);
  rb_compile(L, report->text, report->path);
  rb_bytecode_visitor visitor = {.context = report, .line = report_line};
  rb_walk_bytecode(L, &visitor);
  return 0;
}

rb_status rb_coverage_lines(rb_vm *vm, rb_slice text, rb_slice path, void *context, void (*report)(void *, int, uint64_t)) {
  line_report asked = {.text = text, .path = path, .context = context, .report = report, .lines = 1};
  for (size_t i = 0; i < text.length; i++) asked.lines += text.bytes[i] == '\n';
  asked.lines += 2;
  for (size_t i = 0; i < vm->coverage.count; i++) {
    const rb_covered *covered = &vm->coverage.sources[i];
    if (covered->source.length == path.length && memcmp(covered->source.bytes, path.bytes, path.length) == 0) asked.covered = covered;
  }
  asked.seen = calloc((size_t)asked.lines, 1);
  if (!asked.seen) return RB_MEMORY;
  rb_budget budget = {.instructions = INT64_MAX / 2, .memory_bytes = 64 << 20, .milliseconds = 5000};
  rb_start_budget(vm, &budget);
  rb_status status = rb_protect(vm, coverage_body, &asked);
  free(asked.seen);
  return status;
}
