#ifndef RB_VALUES_H
#define RB_VALUES_H
/* The fixed entries of Lua's registry, and proxies. */
#include "Run/run.h"

/* Registry --------------------------------------------------------------------------------------------------------------------- */

enum { RB_NAMES = 128, RB_LABEL_BITS = 8, RB_LABELS = 1 << RB_LABEL_BITS };

/* Fixed indices in the registry, after the three that Lua and its library use: close together, so that they are in its array part. */
enum {
  RB_SLOT_EVENT = 4, /* the event's proxy */
  RB_SLOT_EVENT_STORE,
  RB_SLOT_DATA, /* the proxy of the data, reused for each event */
  RB_SLOT_STATE,
  RB_SLOT_RULES, /* run functions; at -index their `when` */
  RB_SLOT_WHENS,
  RB_SLOT_QUERIES,
  RB_SLOT_WEBS,
  RB_SLOT_SINKS,
  RB_SLOT_TESTS,
  RB_SLOT_CHECKS, /* of settings; false where there is none */
  RB_SLOT_MODULES,
  RB_SLOT_ENVIRONMENT, /* the table of globals */
  RB_SLOT_GLOBALS,     /* its proxy, the _ENV of every chunk */
  RB_SLOT_ARRAY,       /* the metatable of arrays */
  RB_SLOT_PROXIES,     /* store -> proxy, of tables that were frozen in place */
  RB_SLOT_DRIVER,      /* the object that tests get */
  RB_SLOT_DATA_FILES,
  RB_SLOT_TRACKED, /* explain: store -> tracking proxy */
  RB_SLOT_LEVELS,  /* the raised events around the current one */
  RB_SLOT_LAZY,    /* the metatable of an event's store with missing fields */
  RB_SLOT_STEPS,   /* the steps of migrations: at twice the version the way up to it, after that the way down from it */
  RB_SLOT_FIT,     /* the names of the parts of the state's shape */
  RB_SLOT_SHAPE,   /* the names of the shape */
  RB_SLOT_NAMES,   /* and the RB_NAMES - 1 after it: members' names */
  RB_SLOT_LABELS = RB_SLOT_NAMES + RB_NAMES, /* and the RB_LABELS - 1 after it: the labels' strings */
  RB_SLOTS_END = RB_SLOT_LABELS + RB_LABELS,
};

/* Creates the fixed entries, and the tables in some of them. */
void rb_open_registry(lua_State *L);

/* Proxies ---------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  const void *array; /* the arrays' metatable */
  /* The key of a proxy's store in its metatable: a number, as that is found faster than an address; no rule can guess it. `ipairs` reads it too. */
  lua_Integer store_key;
  /* A store in which members are missing, which `fill` adds, or NULL. The event sets both. */
  const void *unfilled;
  void (*fill)(lua_State *L, bool whole);
  /* Moves the content of a proxy that records reads into the proxy itself, which may have a metatable of a rule then; its reads are no longer
     recorded. The operations set it. */
  void (*untrack)(lua_State *L, int proxy);
} rb_proxies;

/* The key in the metatable of a proxy that records reads, under which its store is. */
extern const char rb_key_tracked;

void rb_open_proxies(lua_State *L);
/* Pushes an array of the values from `first` to `last`, in which nil is null. */
void rb_push_array(lua_State *L, int first, int last);
/* Replaces the table on top with a frozen proxy of it. */
void rb_push_frozen(lua_State *L);
/* Pushes a proxy without a store; rb_retarget sets it. */
void rb_push_empty_proxy(lua_State *L);
void rb_retarget(lua_State *L, int proxy, int store);
/* If the value at index is a proxy, pushes its store and returns true. */
bool rb_push_store(lua_State *L, int index);
bool rb_is_frozen(lua_State *L, int index);
/* If the value at index is a proxy that records reads, pushes its store and returns true. */
bool rb_push_tracked_store(lua_State *L, int index);
/* Whether the table at index has the arrays' metatable. */
bool rb_is_array(lua_State *L, int index);
void rb_mark_array(lua_State *L, int index);
/* Removes all members of the table at index. */
void rb_remove_members(lua_State *L, int index);

/* The string at index. */
static inline rb_slice rb_text_at(lua_State *L, int index) {
  rb_slice text;
  text.bytes = lua_tolstring(L, index, &text.length);
  return text;
}

/* Pushes a member of the table at index without metamethods; returns its type. */
static inline int rb_push_member(lua_State *L, int index, const char *name) {
  index = lua_absindex(L, index);
  lua_pushstring(L, name);
  return lua_rawget(L, index);
}

#endif
