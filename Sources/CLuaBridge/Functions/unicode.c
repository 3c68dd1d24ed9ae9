/*
 * `text`: letters in another case, white space at the ends, and the form in which texts are compared.
 *
 * utf8proc tells letters and spaces apart. Its functions allocate nothing here: a signal may leave them at any place. A text that is not
 * UTF-8 is repaired first, with U+FFFD in the place of malformed bytes.
 */
#include <utf8proc.h>

#include "vm.h"

/* How many bytes the host repairs at a time, so that a rule can be stopped between two parts. */
enum { PART = 16 * 1024 };
enum { CHARACTER = 4, MOST_FOLDED = 4, CAPITAL_I_WITH_DOT = 0x130, DOT_ABOVE = 0x307, CAPITAL_SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2 };

/* How many bytes of a text are its next part: it ends before a character. */
static size_t part_of(const char *bytes, size_t length) {
  if (length <= PART) return length;
  for (size_t end = PART; end > PART - 4; end--)
    if (((unsigned char)bytes[end] & 0xC0) != 0x80) return end;
  return PART;
}

/* Pushes the text as UTF-8, and returns it. */
static rb_slice push_repaired(lua_State *L, rb_slice text) {
  if (rb_is_utf8(text.bytes, text.length)) {
    lua_pushlstring(L, text.bytes, text.length);
  } else {
    rb_vm *vm = rb_vm_of(L);
    vm->result.length = 0;
    for (size_t at = 0; at < text.length;) {
      rb_value part = {.type = RB_STRING, .text = {text.bytes + at, part_of(text.bytes + at, text.length - at)}};
      rb_ask_host(L, RB_CALL_TEXT_REPAIR, &part, 1);
      rb_slice repaired = rb_check_text(L, -1);
      rb_append(vm, &vm->result, repaired.bytes, repaired.length);
      lua_pop(L, 1);
      at += part.text.length;
    }
    lua_pushlstring(L, vm->result.bytes, vm->result.length);
  }
  return rb_check_text(L, -1);
}

/* Pushes the text that is the function's argument, charged, as UTF-8, and returns it. */
static rb_slice push_argument(lua_State *L, const char *function) {
  return push_repaired(L, rb_charged_text(L, function));
}

/* Case ------------------------------------------------------------------------------------------------------------------------- */

/* Writes a character in another case, as up to MOST_FOLDED characters; returns how many. */
typedef int change(utf8proc_int32_t character, utf8proc_int32_t *into);

static int lower(utf8proc_int32_t character, utf8proc_int32_t *into) {
  into[0] = utf8proc_tolower(character);
  if (character != CAPITAL_I_WITH_DOT) return 1;
  into[0] = 'i';
  into[1] = DOT_ABOVE;
  return 2;
}

/* Whether the first character from `at` on, forwards or backwards, that counts in a word is a letter with a case (Unicode's Final_Sigma). */
static bool is_cased(rb_slice text, size_t at, int by) {
  while (at < text.length) {
    utf8proc_int32_t character;
    if (((unsigned char)text.bytes[at] & 0xC0) != 0x80) {
      utf8proc_iterate((const utf8proc_uint8_t *)text.bytes + at, (utf8proc_ssize_t)(text.length - at), &character);
      switch (utf8proc_category(character)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT: return true;
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_SK: break;
        default:
          if (character == '\'' || character == '.' || character == ':' || character == 0xB7 || character == 0x2018 || character == 0x2019) break;
          return false;
      }
    }
    at += (size_t)by; /* below 0 it is past the end */
  }
  return false;
}

/* A letter without a single upper case, such as ß, folds to several letters; its upper case is theirs. */
static int upper(utf8proc_int32_t character, utf8proc_int32_t *into) {
  int boundary = 0;
  if (utf8proc_category(character) == UTF8PROC_CATEGORY_LU) {
    into[0] = character;
    return 1;
  }
  utf8proc_ssize_t count = utf8proc_decompose_char(character, into, MOST_FOLDED, UTF8PROC_CASEFOLD, &boundary);
  if (count < 2 || count > MOST_FOLDED) {
    into[0] = utf8proc_toupper(character);
    return 1;
  }
  for (int i = 0; i < count; i++) into[i] = utf8proc_toupper(into[i]);
  return (int)count;
}

/* Writes a text with its ASCII letters in the other case: those between `first` and `first` + 25; false if it has others. */
static bool change_ascii(char *into, rb_slice text, unsigned char first) {
  unsigned char all = 0;
  for (size_t i = 0; i < text.length; i++) {
    unsigned char byte = (unsigned char)text.bytes[i];
    all |= byte;
    into[i] = (char)((unsigned char)(byte - first) < 26 ? byte ^ 0x20 : byte);
  }
  return all < 0x80;
}

/* Pushes a text of UTF-8 in the case that `change` gives, and that `first` begins in ASCII. */
static void push_changed(lua_State *L, rb_slice text, unsigned char first, change *change) {
  rb_vm *vm = rb_vm_of(L);
  vm->result.length = 0;
  if (change_ascii(rb_reserve(vm, &vm->result, text.length + 1), text, first)) {
    lua_pushlstring(L, vm->result.bytes, text.length);
    return;
  }
  for (size_t at = 0; at < text.length;) {
    utf8proc_int32_t character, changed[MOST_FOLDED];
    at += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text.bytes + at, (utf8proc_ssize_t)(text.length - at), &character);
    int count = change(character, changed);
    if (character == CAPITAL_SIGMA && change == lower && is_cased(text, at - 3, -1) && !is_cased(text, at, 1)) changed[0] = FINAL_SIGMA;
    char *out = rb_reserve(vm, &vm->result, (size_t)count * CHARACTER);
    for (int i = 0; i < count; i++) out += utf8proc_encode_char(changed[i], (utf8proc_uint8_t *)out);
    vm->result.length = (size_t)(out - vm->result.bytes);
  }
  lua_pushlstring(L, vm->result.bytes, vm->result.length);
}

void rb_push_lower(lua_State *L, rb_slice text) {
  push_changed(L, push_repaired(L, text), 'A', lower);
  lua_remove(L, -2);
}

static int text_lower(lua_State *L) {
  push_changed(L, push_argument(L, "text.lower"), 'A', lower);
  return 1;
}

static int text_upper(lua_State *L) {
  push_changed(L, push_argument(L, "text.upper"), 'a', upper);
  return 1;
}

/* Comparison ------------------------------------------------------------------------------------------------------------------- */

/* A decimal digit of any script as that of ASCII, and the hyphen, which the non-breaking one is folded to, as a minus; other characters as
   they are. The digits of a script stand in a row. */
static utf8proc_int32_t plain(utf8proc_int32_t character) {
  if (character < 0x80 || utf8proc_category(character) != UTF8PROC_CATEGORY_ND) return character == 0x2010 ? '-' : character;
  int value = 0;
  while (value < 9 && utf8proc_category(character - value - 1) == UTF8PROC_CATEGORY_ND) value++;
  return '0' + value;
}

/* Unicode's NFKC_Casefold, and digits and hyphens as those of ASCII. */
static int text_fold(lua_State *L) {
  static const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
  rb_vm *vm = rb_vm_of(L);
  rb_slice text = push_argument(L, "text.fold");
  const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)text.bytes;
  utf8proc_ssize_t length = (utf8proc_ssize_t)text.length;
  utf8proc_ssize_t count = utf8proc_decompose(bytes, length, NULL, 0, options);
  if (count < 0) return luaL_error(L, "text.fold: %s", utf8proc_errmsg(count));
  vm->result.length = 0;
  /* Four bytes each, and the final zero that utf8proc writes. */
  utf8proc_int32_t *characters = (utf8proc_int32_t *)rb_reserve(vm, &vm->result, ((size_t)count + 1) * sizeof *characters);
  utf8proc_decompose(bytes, length, characters, count, options);
  for (utf8proc_ssize_t i = 0; i < count; i++) characters[i] = plain(characters[i]);
  utf8proc_ssize_t made = utf8proc_reencode(characters, count, options);
  if (made < 0) return luaL_error(L, "text.fold: %s", utf8proc_errmsg(made));
  lua_pushlstring(L, vm->result.bytes, (size_t)made);
  return 1;
}

/* White space ------------------------------------------------------------------------------------------------------------------ */

/* Whether a character has the property White_Space. */
static bool is_space(utf8proc_int32_t character) {
  if ((character >= 0x09 && character <= 0x0D) || character == 0x85) return true;
  switch (utf8proc_category(character)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return true;
    default: return false;
  }
}

/* How many of the bytes from `at` on are a space, 0 if they begin none. */
static size_t space_at(const char *at, size_t left) {
  utf8proc_int32_t character;
  utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)at, (utf8proc_ssize_t)left, &character);
  return length > 0 && is_space(character) ? (size_t)length : 0;
}

static int text_trim(lua_State *L) {
  rb_slice text = rb_charged_text(L, "text.trim");
  for (size_t space; text.length > 0 && (space = space_at(text.bytes, text.length)) > 0;)
    text = (rb_slice){text.bytes + space, text.length - space};
  while (text.length > 0) {
    size_t start = text.length - 1;
    while (start > 0 && text.length - start < CHARACTER && ((unsigned char)text.bytes[start] & 0xC0) == 0x80) start--;
    if (space_at(text.bytes + start, text.length - start) != text.length - start) break;
    text.length = start;
  }
  push_repaired(L, text);
  return 1;
}

void rb_open_text(lua_State *L) {
  static const luaL_Reg functions[] = {{"lower", text_lower}, {"upper", text_upper},    {"fold", text_fold},
                                       {"trim", text_trim},   {"find_re", rb_find_re}, {NULL, NULL}};
  rb_add_table(L, "text", functions, NULL);
}
