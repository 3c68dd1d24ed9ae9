/* The one header through which libuv is imported, with the few calls of the C library that hide behind _GNU_SOURCE. */
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <uv.h>

/* accept4(2), without a peer address. */
extern int ruled_accept4(int descriptor, void *address, void *length, int flags) __asm__("accept4");

/* pthread_setname_np(3). */
extern int ruled_name_thread(pthread_t thread, const char *name) __asm__("pthread_setname_np");

/* The kernel's struct ucred, which SO_PEERCRED fills. */
struct ruled_credentials {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};

/* SO_PEERGROUPS, which older headers lack. */
static const int ruled_so_peergroups = 59;
