#ifndef CLUABRIDGE_H
#define CLUABRIDGE_H
const char *rb_lua_version(void);
#endif
