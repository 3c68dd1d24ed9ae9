/* The one header through which libmicrohttpd is imported, with calls in place of its variadic ones. */
#include <stdint.h>
#include <stddef.h>
#include <sys/socket.h>
#include <microhttpd.h>

/* A server of one thread that listens nowhere: connections are handed to it with MHD_add_connection. */
static inline struct MHD_Daemon *ruled_http_start(
    unsigned int connections, size_t memory, unsigned int timeout, MHD_AccessHandlerCallback handler,
    void *(*begun)(void *context, const char *target, struct MHD_Connection *connection),
    MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback changed, void *context) {
  return MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
      NULL, handler, context, MHD_OPTION_URI_LOG_CALLBACK, begun, context, MHD_OPTION_NOTIFY_COMPLETED, completed,
      context, MHD_OPTION_NOTIFY_CONNECTION, changed, context, MHD_OPTION_CONNECTION_LIMIT, connections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_CONNECTION_TIMEOUT, timeout,
      MHD_OPTION_END);
}

/* The socket of a connection. */
static inline int ruled_http_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

/* What the callback for a new connection left for it. */
static inline void *ruled_http_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

/* What a content reader answers at the end. */
static const long ruled_http_end = MHD_CONTENT_READER_END_OF_STREAM;

/* Content whose length is not known. */
static inline struct MHD_Response *ruled_http_stream(
    MHD_ContentReaderCallback reader, void *context, MHD_ContentReaderFreeCallback free) {
  return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, reader, context, free);
}

/* A whole body, which is copied. */
static inline struct MHD_Response *ruled_http_response(const void *body, size_t size) {
  return MHD_create_response_from_buffer(size, (void *)body, MHD_RESPMEM_MUST_COPY);
}

/* Calls `take` with every header field. */
static inline void ruled_http_headers(struct MHD_Connection *connection, MHD_KeyValueIteratorN take, void *context) {
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, take, context);
}

/* Whether a connection has begun rather than ended. */
static inline int ruled_http_begins(enum MHD_ConnectionNotificationCode change) {
  return change == MHD_CONNECTION_NOTIFY_STARTED;
}
