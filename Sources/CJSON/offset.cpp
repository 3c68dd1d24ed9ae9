#include "CJSON.h"

#include <simdjson.h>

#include "scan.h"

using namespace simdjson;

namespace {

/// Goes through a text token by token, which simdjson's fast parser does not: that one only tells that a text is wrong.
class Walk {
 public:
  explicit Walk(const char *text, size_t depth) : depth(depth), last(text) {}

  /// Where the walk ended: the scalar that is wrong, or the token that does not belong there.
  const char *end(ondemand::document &document) const {
    const char *at = nullptr;
    if (is_in_scalar || document.current_location().get(at) || at < last) return last;
    return at;
  }

  error_code document(ondemand::document &document) {
    ondemand::json_type type;
    if (error_code error = document.type().get(type)) return error;
    if (type == ondemand::json_type::object || type == ondemand::json_type::array) {
      ondemand::value root;
      if (error_code error = document.get_value().get(root)) return error;
      if (error_code error = value(root)) return error;
      const char *at = nullptr;
      return document.current_location().get(at) ? SUCCESS : TRAILING_CONTENT;
    }
    note(document);
    return TAPE_ERROR;
  }

 private:
  size_t depth;
  /// The value that was begun last.
  const char *last;
  bool is_in_scalar = false;

  template <typename Token>
  void note(Token &token) {
    const char *at = nullptr;
    if (!token.current_location().get(at)) last = at;
  }

  error_code value(ondemand::value value) {
    note(value);
    ondemand::json_type type;
    if (error_code error = value.type().get(type)) return error;
    if (type == ondemand::json_type::object) return object(value);
    if (type == ondemand::json_type::array) return array(value);
    error_code error = scalar(value, type);
    is_in_scalar = error != SUCCESS;
    return error;
  }

  static error_code scalar(ondemand::value value, ondemand::json_type type) {
    switch (type) {
      case ondemand::json_type::string: return value.get_string().error();
      case ondemand::json_type::number: return value.get_double().error();
      case ondemand::json_type::boolean: return value.get_bool().error();
      default: {
        bool is_null = false;
        if (error_code error = value.is_null().get(is_null)) return error;
        return is_null ? SUCCESS : N_ATOM_ERROR;
      }
    }
  }

  error_code array(ondemand::value value) {
    if (depth == 0) return DEPTH_ERROR;
    ondemand::array array;
    if (error_code error = value.get_array().get(array)) return error;
    depth--;
    for (auto element : array) {
      ondemand::value child;
      if (error_code error = std::move(element).get(child)) return error;
      if (error_code error = this->value(child)) return error;
    }
    depth++;
    return SUCCESS;
  }

  error_code object(ondemand::value value) {
    if (depth == 0) return DEPTH_ERROR;
    ondemand::object object;
    if (error_code error = value.get_object().get(object)) return error;
    depth--;
    for (auto member : object) {
      ondemand::field field;
      if (error_code error = std::move(member).get(field)) return error;
      std::string_view name;
      if (error_code error = field.unescaped_key().get(name)) return error;
      if (error_code error = this->value(field.value())) return error;
    }
    depth++;
    return SUCCESS;
  }
};

/// The offset of the first line that is not UTF-8.
size_t line_of_other_encoding(const char *bytes, size_t length) {
  for (size_t start = 0; start < length;) {
    const void *newline = memchr(bytes + start, '\n', length - start);
    size_t end = newline ? size_t(static_cast<const char *>(newline) - bytes) + 1 : length;
    if (!validate_utf8(bytes + start, end - start)) return start;
    start = end;
  }
  return 0;
}

/// The offset of the first string that is not closed or has a control character, or `length` if there is none.
size_t broken_string(const char *bytes, size_t length) {
  const char *end = bytes + length;
  for (const char *at = bytes; at < end;) {
    if (*at++ != '"') continue;
    const char *start = at;
    at = cj_string_end(at, end);
    for (const char *c = start; c < at; c++) {
      if (static_cast<unsigned char>(*c) < 0x20) return size_t(c - bytes);
    }
    if (at == end && (at == start || at[-1] != '"')) return size_t(start - 1 - bytes);
  }
  return length;
}

}  // namespace

extern "C" size_t cj_error_offset(const char *bytes, size_t length, size_t depth) {
  if (!validate_utf8(bytes, length)) return line_of_other_encoding(bytes, length);
  size_t broken = broken_string(bytes, length);
  if (broken < length) return broken;
  padded_string text(bytes, length);
  ondemand::parser parser;
  ondemand::document document;
  if (parser.iterate(text).get(document)) return 0;
  Walk walk(text.data(), depth);
  if (!walk.document(document)) return 0;
  size_t offset = size_t(walk.end(document) - text.data());
  return offset < length ? offset : length;
}
