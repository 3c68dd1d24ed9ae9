/* SHA-256 of OpenSSL, whose plain functions are deprecated: those instead of them allocate for each digest. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
