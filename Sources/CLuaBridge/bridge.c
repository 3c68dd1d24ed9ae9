#include "CLuaBridge.h"
#include <lua.h>
const char *rb_lua_version(void) { return LUA_RELEASE; }
