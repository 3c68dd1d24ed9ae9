/* PostgreSQL's client library, libpq, loaded when a process first needs it: a daemon that stores on its own disk neither links nor loads it.

   All parameters and all columns are in PostgreSQL's binary form: an int8 is eight bytes, most significant first; text and bytea are their bytes. */

#ifndef CPQ_H
#define CPQ_H

#include <stdbool.h>
#include <stddef.h>

/* A connection to a server; one thread at a time uses it. */
typedef struct pq_connection pq_connection;

/* The outcome of a statement. */
typedef enum {
  /* The server has answered, and its transaction is over. See `pq_warned`. */
  PQ_ANSWERED,
  /* The server refused it: see `pq_sqlstate`. The connection can be used again. */
  PQ_REFUSED,
  /* The answer did not come, or not in time: it is not known what the server did or will do. The connection can't be used again. */
  PQ_UNKNOWN,
} pq_outcome;

/* A parameter; without bytes it is null. */
typedef struct {
  const void *bytes;
  size_t length;
} pq_value;

/* Loads libpq; null when that succeeds or was done before, otherwise why it can't be loaded. Any thread may call it at any time. */
const char *pq_load(void);

/* Connects within so many seconds for each host; null only without memory. Wants `pq_load` before. `pq_is_open` tells whether it succeeded. */
pq_connection *pq_connect(const char *url, const char *application, int seconds);

/* Whether statements can be sent. */
bool pq_is_open(const pq_connection *connection);

/* Asks the server to stop what it executes, over a connection of its own; may block as long as connecting does. */
void pq_cancel(pq_connection *connection);

/* Closes the connection and frees what belongs to it. */
void pq_close(pq_connection *connection);

/* Executes one statement in a transaction of its own, and waits for its end at most so many milliseconds. */
pq_outcome pq_execute(pq_connection *connection, const char *statement, const pq_value *values, int count, int milliseconds);

/* As `pq_execute`, for a statement that the server keeps under `name` from its first execution on. */
pq_outcome pq_execute_kept(pq_connection *connection, const char *name, const char *statement, const pq_value *values, int count,
                           int milliseconds);

/* Executes statements without parameters, one after the other. */
pq_outcome pq_run_script(pq_connection *connection, const char *script, int milliseconds);

/* The reason of the last refusal, or of the broken connection; valid until the next call. */
const char *pq_message(const pq_connection *connection);

/* The five characters of the last refusal; empty if the server sent none. */
const char *pq_sqlstate(const pq_connection *connection);

/* Whether the server sent a warning with the last answer, as it does when it stops to wait for its standbys; its text is `pq_message`. */
bool pq_warned(const pq_connection *connection);

/* How many rows the last answer has. */
int pq_rows(const pq_connection *connection);

/* How many rows the last statement wrote. */
long pq_written(const pq_connection *connection);

/* The bytes in a row and a column of the last answer, valid until the next call; null for a null. */
const void *pq_column(const pq_connection *connection, int row, int column, size_t *length);

#endif
