#include "CPattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <string>

struct cp_pattern {
  cp_pattern(const char *bytes, size_t length, const RE2::Options &options) : text(bytes, length), expression(text, options) {}

  std::string text;
  RE2 expression;
  unsigned long used = 0;
};

struct cp_cache {
  std::unique_ptr<cp_pattern> patterns[CP_CACHED];
  /* Grows with each search: the pattern with the least number was used least recently. */
  unsigned long uses = 0;
};

namespace {

/* What a compiled pattern may take, with the states of its automaton. */
constexpr int64_t memory = 1 << 20;
/* How many steps a search may take without an automaton. */
constexpr size_t most_steps = 4 << 20;

/* The search that the thread is in. */
struct search {
  const volatile sig_atomic_t *stop;
  /* Whether it ends where the automaton gives up; otherwise RE2 follows all states of each byte, and asks nobody meanwhile. */
  bool needs_automaton;
};
thread_local const search *current;

/* Leaves a search. */
struct stopped {};

RE2::Options options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(memory);
  return options;
}

void install_hooks() {
  static const bool installed = [] {
    re2::hooks::SetDFAStateCacheResetHook([](const re2::hooks::DFAStateCacheReset &) {
      if (current && *current->stop) throw stopped();
    });
    re2::hooks::SetDFASearchFailureHook([](const re2::hooks::DFASearchFailure &) {
      if (current && current->needs_automaton) throw stopped();
    });
    return true;
  }();
  (void)installed;
}

std::unique_ptr<cp_pattern> compile(const char *bytes, size_t length, std::string &why) {
  if (length > CP_PATTERN_LIMIT) {
    why = "it is longer than " + std::to_string(CP_PATTERN_LIMIT) + " bytes";
    return nullptr;
  }
  auto made = std::make_unique<cp_pattern>(bytes, length, options());
  if (!made->expression.ok()) {
    why = made->expression.error();
    return nullptr;
  }
  if (made->expression.NumberOfCapturingGroups() > CP_GROUPS) {
    why = "it has more than " + std::to_string(CP_GROUPS) + " groups";
    return nullptr;
  }
  return made;
}

cp_part part(const re2::StringPiece &piece) { return {piece.data(), piece.data() ? piece.data() + piece.size() : nullptr}; }

}  // namespace

cp_cache *cp_cache_new(void) {
  install_hooks();
  return new (std::nothrow) cp_cache;
}

void cp_cache_free(cp_cache *cache) { delete cache; }

const cp_pattern *cp_find(cp_cache *cache, const char *bytes, size_t length, char *why, size_t room) {
  auto *place = &cache->patterns[0];
  for (auto &each : cache->patterns) {
    if (each && each->text.size() == length && std::equal(bytes, bytes + length, each->text.data())) {
      each->used = ++cache->uses;
      return each.get();
    }
    if (*place && (!each || each->used < (*place)->used)) place = &each;
  }
  try {
    std::string reason;
    auto made = compile(bytes, length, reason);
    if (!made) {
      std::snprintf(why, room, "%s", reason.c_str());
      return nullptr;
    }
    made->used = ++cache->uses;
    *place = std::move(made);
    return place->get();
  } catch (const std::bad_alloc &) {
    std::snprintf(why, room, "there is no memory for it");
    return nullptr;
  }
}

size_t cp_steps(const cp_pattern *pattern) { return static_cast<size_t>(pattern->expression.ProgramSize()); }
size_t cp_groups(const cp_pattern *pattern) { return static_cast<size_t>(pattern->expression.NumberOfCapturingGroups()); }

cp_result cp_search(const cp_pattern *pattern, const char *text, size_t length, const volatile sig_atomic_t *stop, cp_part *match) {
  search search = {stop, length > most_steps / cp_steps(pattern)};
  current = &search;
  cp_result result;
  try {
    re2::StringPiece found;
    bool matches = pattern->expression.Match(re2::StringPiece(text, length), 0, length, RE2::UNANCHORED, &found, 1);
    *match = part(found);
    result = matches ? CP_FOUND : CP_NONE;
  } catch (const stopped &) {
    result = CP_STOPPED;
  } catch (const std::bad_alloc &) {
    result = CP_STOPPED;
  }
  current = nullptr;
  return result;
}

void cp_split(const cp_pattern *pattern, const char *text, size_t length, cp_part match, cp_part groups[CP_GROUPS]) {
  re2::StringPiece found[CP_GROUPS + 1];
  const int count = pattern->expression.NumberOfCapturingGroups();
  const auto start = static_cast<size_t>(match.start - text), end = static_cast<size_t>(match.end - text);
  pattern->expression.Match(re2::StringPiece(text, length), start, end, RE2::ANCHOR_BOTH, found, count + 1);
  for (int i = 0; i < count; i++) groups[i] = part(found[i + 1]);
}
