#include "CJSON.h"

#include <simdjson.h>

#include <new>

#include "scan.h"

using simdjson::error_code;

// The inline functions of the header read simdjson's tape: these are what they assume of it.
static_assert(CJ_PADDING >= simdjson::SIMDJSON_PADDING, "the header promises less padding than simdjson reads");
static_assert(char(simdjson::internal::tape_type::START_OBJECT) == CJ_OBJECT, "tape of another simdjson");
static_assert(char(simdjson::internal::tape_type::START_ARRAY) == CJ_ARRAY, "tape of another simdjson");
static_assert(char(simdjson::internal::tape_type::STRING) == CJ_STRING, "tape of another simdjson");
static_assert(char(simdjson::internal::tape_type::INT64) == CJ_INT64, "tape of another simdjson");
static_assert(char(simdjson::internal::tape_type::UINT64) == CJ_UINT64, "tape of another simdjson");
static_assert(char(simdjson::internal::tape_type::DOUBLE) == CJ_DOUBLE, "tape of another simdjson");

struct cj_doc {
  simdjson::dom::parser parser;
  size_t depth = CJ_MAX_DEPTH;
};

namespace {

int translate(error_code error) {
  switch (error) {
    case simdjson::SUCCESS: return CJ_OK;
    case simdjson::UTF8_ERROR: return CJ_ERROR_UTF8;
    case simdjson::DEPTH_ERROR: return CJ_ERROR_DEPTH;
    case simdjson::NUMBER_ERROR:
    case simdjson::NUMBER_OUT_OF_RANGE: return CJ_ERROR_NUMBER;
    case simdjson::CAPACITY: return CJ_ERROR_CAPACITY;
    case simdjson::MEMALLOC: return CJ_ERROR_MEMORY;
    default: return CJ_ERROR_SYNTAX;
  }
}

error_code parse_at(cj_doc *doc, size_t depth, const char *bytes, size_t length, size_t readable) {
  if (doc->parser.max_depth() != depth || doc->parser.capacity() == 0) {
    size_t capacity = doc->parser.capacity() > 4096 ? doc->parser.capacity() : 4096;
    if (error_code error = doc->parser.allocate(capacity, depth)) return error;
  }
  bool copy = readable < length || readable - length < CJ_PADDING;
  return doc->parser.parse(bytes, length, copy).error();
}

bool is_deeper(const uint64_t *tape, size_t limit) {
  size_t depth = 0;
  size_t end = size_t(uint32_t(tape[0]));
  for (size_t index = CJ_ROOT; index < end; index++) {
    switch (char(tape[index] >> 56)) {
      case '{':
      case '[':
        if (++depth > limit) return true;
        break;
      case '}':
      case ']': depth--; break;
      case 'l':
      case 'u':
      case 'd': index++; break;
      default: break;
    }
  }
  return false;
}

/// simdjson does not count a container that is empty. So at `depth` it takes no text that is too deep, and only at
/// `depth + 1` every text that is not.
error_code parse(cj_doc *doc, const char *bytes, size_t length, size_t readable) {
  error_code error = parse_at(doc, doc->depth, bytes, length, readable);
  if (error != simdjson::DEPTH_ERROR) return error;
  error = parse_at(doc, doc->depth + 1, bytes, length, readable);
  if (error) return error;
  return is_deeper(doc->parser.doc.tape.get(), doc->depth) ? simdjson::DEPTH_ERROR : simdjson::SUCCESS;
}

}  // namespace

extern "C" {

cj_doc *cj_new(void) { return new (std::nothrow) cj_doc; }

void cj_free(cj_doc *doc) { delete doc; }

void cj_set_depth(cj_doc *doc, size_t depth) { doc->depth = depth; }

int cj_parse(cj_doc *doc, const char *bytes, size_t length, size_t readable) {
  error_code error = parse(doc, bytes, length, readable);
  if (error != simdjson::NUMBER_ERROR) return translate(error);
  // simdjson refuses integers beyond 64 bits, which are JSON all the same: as doubles they parse.
  size_t widened_length = 0;
  char *widened = cj_widen_integers(bytes, length, &widened_length);
  if (!widened) return CJ_ERROR_MEMORY;
  if (widened_length != length) error = parse(doc, widened, widened_length, widened_length + CJ_PADDING);
  free(widened);
  return translate(error);
}

const char *cj_error_text(int error) {
  switch (error) {
    case CJ_OK: return "no error";
    case CJ_ERROR_UTF8: return "the text is not UTF-8";
    case CJ_ERROR_DEPTH: return "the text is nested deeper than 64";
    case CJ_ERROR_NUMBER: return "the text has a number that is malformed or beyond a double's range";
    case CJ_ERROR_CAPACITY: return "the text is too long";
    case CJ_ERROR_MEMORY: return "there is no memory to parse the text";
    default: return "the text is not JSON";
  }
}

const uint64_t *cj_tape(const cj_doc *doc) { return doc->parser.doc.tape.get(); }

const uint8_t *cj_strings(const cj_doc *doc) { return doc->parser.doc.string_buf.get(); }
}
