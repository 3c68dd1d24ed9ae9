#ifndef CJSON_H
#define CJSON_H
const char *cj_version(void);
#endif
