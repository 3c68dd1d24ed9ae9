/*
 * Looks up places in the declared shape of a state, for the check of the state and for its encoding.
 */
#include "vm.h"

uint32_t rb_declared_member(const rb_fit *fit, uint32_t part, const char *name, size_t length) {
  uint32_t member = part + 1;
  while (member < fit->nodes[part].end && (fit->nodes[member].name_length != length || memcmp(fit->nodes[member].name, name, length) != 0))
    member = fit->nodes[member].end;
  return member;
}

bool rb_declares_array(const rb_vm *vm, int depth) {
  const rb_fit *fit = &vm->fit;
  if (!fit->applies) return false;
  uint32_t part = 0;
  for (int i = 0; i < depth; i++) {
    const rb_step *step = &vm->encoding.path[i];
    switch (fit->nodes[part].type) {
      case RB_FIT_ELEMENTS: part++; break;
      case RB_FIT_MEMBERS: {
        uint32_t member = rb_declared_member(fit, part, step->key, step->key_length);
        if (member == fit->nodes[part].end) return false;
        part = member;
        break;
      }
      default: return false;
    }
  }
  return fit->nodes[part].type == RB_FIT_ARRAY || fit->nodes[part].type == RB_FIT_ELEMENTS;
}
