/* The life of a VM. */
#include "vm.h"

#include <stdlib.h>

#include "CPattern.h"

enum { BASE_MIB = 192 };

/* The budget of the bridge's own work. */
static const rb_budget unbounded = {.instructions = INT64_MAX / 2, .memory_bytes = (int64_t)BASE_MIB << 20, .milliseconds = 10000};

static void *allocate(void *context, void *block, size_t old_size, size_t new_size) {
  rb_vm *vm = context;
  void *memory = rb_arena_resize(&vm->arena, block, block ? old_size : 0, new_size);
  /* Lua must not see an allocation fail while a rule runs: its emergency collection is unsafe in 5.4.4, and a rule could catch the error. */
  if (!memory && new_size && vm->limits.running) rb_leave(vm, RB_MEMORY);
  return memory;
}

static int open_body(lua_State *L) {
  rb_open_sandbox(L);
  rb_open_event(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, RB_SLOT_ENVIRONMENT);
  rb_open_host(L);
  rb_open_calendar(L);
  rb_open_comparisons(L);
  rb_open_encodings(L);
  rb_open_pick(L);
  rb_open_text(L);
  rb_open_url(L);
  rb_open_operations(L);
  rb_open_boards(L);
  rb_open_tracking(L);
  rb_open_declarations(L);
  rb_open_driver(L);
  return 0;
}

static int panic(lua_State *L) {
  (void)L;
  abort();
}

rb_vm *rb_vm_new(rb_worker *worker, const rb_host *host, void *context) {
  rb_vm *vm = calloc(1, sizeof *vm);
  if (!vm) return NULL;
  vm->limits.worker = worker;
  if (host) vm->host = *host;
  vm->context = context;
  vm->decoding.parser = cj_new();
  if (!vm->decoding.parser || !rb_arena_open(&vm->arena, (size_t)RB_RESERVED_MIB << 20) || !(vm->L = lua_newstate(allocate, vm))) {
    rb_vm_free(vm);
    return NULL;
  }
  *(rb_vm **)lua_getextraspace(vm->L) = vm;
  lua_atpanic(vm->L, panic);
  rb_find_call_counter(vm->L);
  rb_start_budget(vm, &unbounded);
  rb_seed_random(vm, 0);
  if (rb_protect(vm, open_body, NULL) != RB_OK) {
    rb_vm_free(vm);
    return NULL;
  }
  return vm;
}

void rb_vm_free(rb_vm *vm) {
  if (!vm) return;
  rb_arena_close(&vm->arena);
  rb_coverage_free(vm);
  if (vm->decoding.parser) cj_free(vm->decoding.parser);
  if (vm->functions.patterns) cp_cache_free(vm->functions.patterns);
  free(vm->operations.chain.bytes);
  free(vm->result.bytes);
  free(vm->operations.bytes.bytes);
  free(vm->operations.all);
  free(vm->operations.index.slots);
  free(vm->failure.message.bytes);
  free(vm->failure.file.bytes);
  free(vm->failure.raised_message.bytes);
  free(vm->failure.place.bytes);
  free(vm->failure.here.bytes);
  free(vm->members.all);
  free(vm->decoding.tokens);
  free(vm->failure.compiling.bytes);
  free(vm->scratch.bytes);
  free(vm->encoding.bad.keys.bytes);
  free(vm->fit.nodes);
  free(vm);
}

void rb_vm_set_context(rb_vm *vm, void *context) { vm->context = context; }
rb_slice rb_result(const rb_vm *vm) { return (rb_slice){vm->result.bytes, vm->result.length}; }
