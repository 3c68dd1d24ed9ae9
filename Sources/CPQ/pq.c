#include "CPQ.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The declarations of libpq; its binary interface has been the same since PostgreSQL 9.0. */
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef void (*notice_receiver)(void *context, const PGresult *result);

enum { CONNECTION_OK = 0 };
enum { PGRES_EMPTY_QUERY, PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_COPY_OUT, PGRES_COPY_IN, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR, PGRES_FATAL_ERROR };
enum { PG_DIAG_SEVERITY_NONLOCALIZED = 'V', PG_DIAG_SQLSTATE = 'C', PG_DIAG_MESSAGE_PRIMARY = 'M' };

#define FUNCTIONS(X) \
  X(PGconn *, PQconnectdbParams, (const char *const *, const char *const *, int)) \
  X(void, PQfinish, (PGconn *)) \
  X(void *, PQgetCancel, (PGconn *)) \
  X(int, PQcancel, (void *, char *, int)) \
  X(void, PQfreeCancel, (void *)) \
  X(int, PQstatus, (const PGconn *)) \
  X(char *, PQerrorMessage, (const PGconn *)) \
  X(int, PQsocket, (const PGconn *)) \
  X(int, PQsetnonblocking, (PGconn *, int)) \
  X(notice_receiver, PQsetNoticeReceiver, (PGconn *, notice_receiver, void *)) \
  X(int, PQsendQuery, (PGconn *, const char *)) \
  X(int, PQsendQueryParams, \
    (PGconn *, const char *, int, const unsigned *, const char *const *, const int *, const int *, int)) \
  X(int, PQsendPrepare, (PGconn *, const char *, const char *, int, const unsigned *)) \
  X(int, PQsendQueryPrepared, (PGconn *, const char *, int, const char *const *, const int *, const int *, int)) \
  X(int, PQflush, (PGconn *)) \
  X(int, PQconsumeInput, (PGconn *)) \
  X(int, PQisBusy, (PGconn *)) \
  X(PGresult *, PQgetResult, (PGconn *)) \
  X(int, PQresultStatus, (const PGresult *)) \
  X(char *, PQresultErrorField, (const PGresult *, int)) \
  X(int, PQntuples, (const PGresult *)) \
  X(int, PQgetisnull, (const PGresult *, int, int)) \
  X(int, PQgetlength, (const PGresult *, int, int)) \
  X(char *, PQgetvalue, (const PGresult *, int, int)) \
  X(char *, PQcmdTuples, (PGresult *)) \
  X(void, PQclear, (PGresult *))

#define DECLARE(type, name, parameters) static type(*name) parameters;
FUNCTIONS(DECLARE)

enum { MOST_VALUES = 16, MOST_KEPT = 8 };

struct pq_connection {
  PGconn *server;
  PGresult *answer;
  bool is_open;
  bool warned;
  char message[512];
  char sqlstate[6];
  /* The names of the statements that the server keeps; they are literals of the caller. */
  const char *kept[MOST_KEPT];
  int kept_count;
};

static pthread_once_t loading = PTHREAD_ONCE_INIT;
static char load_error[256];

static void load(void) {
  void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(load_error, sizeof load_error, "%s", dlerror());
    return;
  }
#define LOAD(type, name, parameters) \
  name = (type(*) parameters)dlsym(library, #name); \
  if (!name) { \
    snprintf(load_error, sizeof load_error, "libpq.so.5 has no function %s", #name); \
    return; \
  }
  FUNCTIONS(LOAD)
}

const char *pq_load(void) {
  pthread_once(&loading, load);
  return load_error[0] ? load_error : NULL;
}

/* A finding or a line of the log is one line, so white space within the text becomes one space. */
static void set_message(pq_connection *c, const char *text) {
  size_t length = 0;
  for (; text && *text && length + 1 < sizeof c->message; text++) {
    const bool is_space = *text == '\n' || *text == '\t' || *text == ' ';
    if (!is_space) c->message[length++] = *text;
    else if (length > 0 && c->message[length - 1] != ' ') c->message[length++] = ' ';
  }
  if (length > 0 && c->message[length - 1] == ' ') length--;
  c->message[length] = 0;
}

static void take_notice(void *context, const PGresult *result) {
  pq_connection *c = context;
  const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (!severity || strcmp(severity, "WARNING") != 0) return;
  c->warned = true;
  set_message(c, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}

pq_connection *pq_connect(const char *url, const char *application, int seconds) {
  pq_connection *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  char timeout[16];
  snprintf(timeout, sizeof timeout, "%d", seconds);
  /* Parameters behind `dbname` override the URL, those before it are defaults. */
  const char *keys[] = {"connect_timeout", "dbname", "fallback_application_name", NULL};
  const char *values[] = {timeout, url, application, NULL};
  c->server = PQconnectdbParams(keys, values, 1);
  if (!c->server) {
    free(c);
    return NULL;
  }
  c->is_open = PQstatus(c->server) == CONNECTION_OK;
  if (c->is_open) {
    PQsetNoticeReceiver(c->server, take_notice, c);
    PQsetnonblocking(c->server, 1);
  } else {
    set_message(c, PQerrorMessage(c->server));
  }
  return c;
}

bool pq_is_open(const pq_connection *c) { return c->is_open; }

void pq_cancel(pq_connection *c) {
  char message[256];
  void *cancel = PQgetCancel(c->server);
  if (!cancel) return;
  PQcancel(cancel, message, sizeof message);
  PQfreeCancel(cancel);
}

void pq_close(pq_connection *c) {
  if (c->answer) PQclear(c->answer);
  PQfinish(c->server);
  free(c);
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

/* Waits until the socket can be read or, if wanted, written; false when the time is over. */
static bool wait_until(pq_connection *c, long end, bool writes) {
  struct pollfd socket = {.fd = PQsocket(c->server), .events = POLLIN | (writes ? POLLOUT : 0)};
  while (true) {
    long left = end - now_ms();
    if (left <= 0) return false;
    int ready = poll(&socket, 1, (int)left);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  /* libpq finds the error */
  }
}

static pq_outcome leave_unknown(pq_connection *c, const char *why) {
  c->is_open = false;
  set_message(c, why);
  return PQ_UNKNOWN;
}

static void begin(pq_connection *c) {
  if (c->answer) PQclear(c->answer);
  c->answer = NULL;
  c->warned = false;
  c->message[0] = 0;
  c->sqlstate[0] = 0;
}

/* Waits for the whole answer of the server.

   Only the end of the answer says that the transaction is over: a row count comes before the commit. */
static pq_outcome finish(pq_connection *c, long end) {
  const char *late = "the database did not answer in time";
  for (int left; (left = PQflush(c->server)) != 0;) {
    if (left < 0) return leave_unknown(c, PQerrorMessage(c->server));
    if (!wait_until(c, end, true)) return leave_unknown(c, late);
    if (!PQconsumeInput(c->server)) return leave_unknown(c, PQerrorMessage(c->server));
  }
  bool is_refused = false;
  while (true) {
    while (PQisBusy(c->server)) {
      if (!wait_until(c, end, false)) return leave_unknown(c, late);
      if (!PQconsumeInput(c->server)) return leave_unknown(c, PQerrorMessage(c->server));
    }
    PGresult *result = PQgetResult(c->server);
    if (!result) break;
    int status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && !is_refused) {
      is_refused = true;
      const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
      const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
      set_message(c, message ? message : PQerrorMessage(c->server));
      snprintf(c->sqlstate, sizeof c->sqlstate, "%s", sqlstate ? sqlstate : "");
    }
    if (c->answer) PQclear(c->answer);
    c->answer = result;
  }
  if (PQstatus(c->server) != CONNECTION_OK) {
    c->is_open = false;
    if (!c->message[0]) set_message(c, PQerrorMessage(c->server));
    return PQ_UNKNOWN;
  }
  return is_refused ? PQ_REFUSED : PQ_ANSWERED;
}

/* Parameters in libpq's form; the arrays belong to the caller. */
typedef struct {
  const char *values[MOST_VALUES];
  int lengths[MOST_VALUES];
  int formats[MOST_VALUES];
} parameters;

static void fill(parameters *p, const pq_value *values, int count) {
  for (int i = 0; i < count; i++) {
    p->values[i] = values[i].bytes;
    p->lengths[i] = (int)values[i].length;
    p->formats[i] = 1;
  }
}

/* Whether a statement can be sent with so many parameters; otherwise says why not. */
static bool is_sendable(pq_connection *c, const pq_value *values, int count) {
  begin(c);
  bool fits = count <= MOST_VALUES;
  for (int i = 0; fits && i < count; i++) fits = values[i].length < 1 << 30;
  if (!fits) set_message(c, "too many parameters, or one of 1 GiB or more");
  return fits;
}

pq_outcome pq_execute(pq_connection *c, const char *statement, const pq_value *values, int count, int milliseconds) {
  if (!is_sendable(c, values, count)) return PQ_REFUSED;
  if (!c->is_open) return PQ_UNKNOWN;
  parameters p;
  fill(&p, values, count);
  if (!PQsendQueryParams(c->server, statement, count, NULL, p.values, p.lengths, p.formats, 1)) {
    return leave_unknown(c, PQerrorMessage(c->server));
  }
  return finish(c, now_ms() + milliseconds);
}

static pq_outcome keep(pq_connection *c, const char *name, const char *statement, long end) {
  for (int i = 0; i < c->kept_count; i++) {
    if (strcmp(c->kept[i], name) == 0) return PQ_ANSWERED;
  }
  if (c->kept_count == MOST_KEPT) abort();
  if (!PQsendPrepare(c->server, name, statement, 0, NULL)) return leave_unknown(c, PQerrorMessage(c->server));
  pq_outcome outcome = finish(c, end);
  if (outcome == PQ_ANSWERED) c->kept[c->kept_count++] = name;
  return outcome;
}

pq_outcome pq_execute_kept(pq_connection *c, const char *name, const char *statement, const pq_value *values, int count, int milliseconds) {
  if (!is_sendable(c, values, count)) return PQ_REFUSED;
  if (!c->is_open) return PQ_UNKNOWN;
  long end = now_ms() + milliseconds;
  pq_outcome outcome = keep(c, name, statement, end);
  if (outcome != PQ_ANSWERED) return outcome;
  begin(c);
  parameters p;
  fill(&p, values, count);
  if (!PQsendQueryPrepared(c->server, name, count, p.values, p.lengths, p.formats, 1)) {
    return leave_unknown(c, PQerrorMessage(c->server));
  }
  return finish(c, end);
}

pq_outcome pq_run_script(pq_connection *c, const char *script, int milliseconds) {
  begin(c);
  if (!c->is_open) return PQ_UNKNOWN;
  if (!PQsendQuery(c->server, script)) return leave_unknown(c, PQerrorMessage(c->server));
  return finish(c, now_ms() + milliseconds);
}

const char *pq_message(const pq_connection *c) { return c->message; }

const char *pq_sqlstate(const pq_connection *c) { return c->sqlstate; }

bool pq_warned(const pq_connection *c) { return c->warned; }

int pq_rows(const pq_connection *c) { return c->answer ? PQntuples(c->answer) : 0; }

long pq_written(const pq_connection *c) { return c->answer ? atol(PQcmdTuples(c->answer)) : 0; }

const void *pq_column(const pq_connection *c, int row, int column, size_t *length) {
  *length = 0;
  if (!c->answer || PQgetisnull(c->answer, row, column)) return NULL;
  *length = (size_t)PQgetlength(c->answer, row, column);
  return PQgetvalue(c->answer, row, column);
}
