#ifndef RB_REGISTRY_H
#define RB_REGISTRY_H
#include "values.h"

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

#endif
