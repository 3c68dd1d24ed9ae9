// commits: commits batches to PostgreSQL with libpq alone, as the owner of a cluster's log does.
// It prints the figures as one line of JSON.
#define _GNU_SOURCE
#include <endian.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "load.h"

static const char usage[] =
    "usage: commits URL SECONDS CONNECTIONS one|each [RATE]\n"
    "The batches are the latest ones of ruled.commits, in turns. The tables are those of the daemon, in the schema `bare`.\n"
    "one: all connections write one log, so that each waits for the row of that log; each: each connection writes a log of its own.\n"
    "RATE: so many commits a second are begun on each connection; without it, each begins when the one before has ended.\n";

static const char tables[] =
    "SET client_min_messages = warning; SET synchronous_commit = on; DROP SCHEMA IF EXISTS bare CASCADE; CREATE SCHEMA bare;"
    "CREATE TABLE bare.logs (log int8 PRIMARY KEY, epoch int8 NOT NULL, owner text, incarnation text, sequence int8 NOT NULL,"
    "  digest bytea NOT NULL) WITH (fillfactor = 10);"
    "CREATE TABLE bare.commits (log int8 NOT NULL, sequence int8 NOT NULL, epoch int8 NOT NULL, previous bytea NOT NULL,"
    "  digest bytea NOT NULL, batch bytea NOT NULL, PRIMARY KEY (log, sequence)) PARTITION BY RANGE (sequence);"
    "ALTER TABLE bare.commits ALTER batch SET STORAGE EXTERNAL;"
    "CREATE TABLE bare.commits_0 PARTITION OF bare.commits FOR VALUES FROM (0) TO (1000000000);"
    "INSERT INTO bare.logs SELECT log, 1, 'a', 'a', 0, '' FROM generate_series(0, 63) AS log;";

// The daemon's statement, in the schema `bare`.
#define APPEND(condition) \
  "WITH held AS (UPDATE bare.logs SET sequence = sequence + 1, digest = $5::bytea WHERE log = $1::int8 AND epoch = $2::int8" condition \
  " RETURNING sequence) INSERT INTO bare.commits (log, sequence, epoch, previous, digest, batch)" \
  " SELECT $1::int8, sequence, $2::int8, $4::bytea, $5::bytea, $6::bytea FROM held"
// Of several in flight on one log none knows where the log ends when its turn comes; parameters without a comparison have their types stated.
static const char append_alone[] = APPEND(" AND sequence = $3::int8 AND digest = $4::bytea");
static const char append_beside[] = APPEND(" AND $3::int8 IS NOT NULL");

enum { MOST_CONNECTIONS = 64, MOST_BATCHES = 256, DIGEST_BYTES = 32 };

static struct { char *bytes; int count; } batches[MOST_BATCHES];
static int batch_count;
static const char *url, *statement;
static bool is_each;
static uint64_t ends;
// The nanoseconds between the beginnings of two commits; 0 for none.
static uint64_t pace;

struct writer {
  pthread_t thread;
  int number;
  struct histogram latency;
  uint64_t waited;
};

__attribute__((noreturn)) static void fail(const char *what, const char *why) {
  fprintf(stderr, "commits: %s: %s\n", what, why);
  exit(2);
}

static PGconn *connected(void) {
  PGconn *connection = PQconnectdb(url);
  if (PQstatus(connection) != CONNECTION_OK) fail("no connection", PQerrorMessage(connection));
  return connection;
}

static void take_batches(PGconn *connection) {
  static const char latest[] = "SELECT batch FROM ruled.commits ORDER BY sequence DESC LIMIT 256";
  PGresult *rows = PQexecParams(connection, latest, 0, NULL, NULL, NULL, NULL, 1);
  if (PQresultStatus(rows) != PGRES_TUPLES_OK || PQntuples(rows) == 0) fail("no batches", PQerrorMessage(connection));
  batch_count = PQntuples(rows);
  for (int i = 0; i < batch_count; i++) {
    batches[i].count = PQgetlength(rows, i, 0);
    batches[i].bytes = malloc((size_t)batches[i].count);
    if (!batches[i].bytes) fail("no memory", "");
    memcpy(batches[i].bytes, PQgetvalue(rows, i, 0), (size_t)batches[i].count);
  }
  PQclear(rows);
}

// Sleeps until a time, if it has not passed.
static void await(uint64_t due) {
  if (now_ns() >= due) return;
  struct timespec until = { .tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u) };
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *write_batches(void *context) {
  struct writer *writer = context;
  PGconn *connection = connected();
  PGresult *result = PQprepare(connection, "append", statement, 0, NULL);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) fail("prepare", PQerrorMessage(connection));
  PQclear(result);
  char previous[DIGEST_BYTES] = "", digest[DIGEST_BYTES] = "";
  uint64_t due = now_ns();
  for (int64_t sequence = 0;; sequence++) {
    due += pace;
    await(due);
    uint64_t begin = now_ns();
    if (begin >= ends) break;
    int64_t log = htobe64((uint64_t)(is_each ? writer->number : 0)), epoch = htobe64(1), expected = htobe64((uint64_t)sequence);
    memcpy(digest, &begin, sizeof begin);
    int batch = (int)((sequence + writer->number) % batch_count);
    const char *values[] = { (char *)&log, (char *)&epoch, (char *)&expected, previous, digest, batches[batch].bytes };
    const int lengths[] = { 8, 8, 8, sequence ? DIGEST_BYTES : 0, DIGEST_BYTES, batches[batch].count }, formats[] = { 1, 1, 1, 1, 1, 1 };
    result = PQexecPrepared(connection, "append", 6, values, lengths, formats, 1);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) fail("append", PQerrorMessage(connection));
    if (strcmp(PQcmdTuples(result), "1") != 0) fail("append", "no row was written");
    PQclear(result);
    uint64_t took = now_ns() - begin;
    histogram_add(&writer->latency, took);
    writer->waited += took;
    memcpy(previous, digest, sizeof previous);
  }
  PQfinish(connection);
  return NULL;
}

int main(int count, char **arguments) {
  if (count != 5 && count != 6) {
    fputs(usage, stderr);
    return 2;
  }
  url = arguments[1];
  double seconds = atof(arguments[2]);
  int connections = atoi(arguments[3]);
  is_each = strcmp(arguments[4], "each") == 0;
  if (count == 6) pace = (uint64_t)(1e9 / atof(arguments[5]));
  if (connections < 1 || connections > MOST_CONNECTIONS) fail("CONNECTIONS", "out of range");
  statement = connections == 1 || is_each ? append_alone : append_beside;
  PGconn *connection = connected();
  PGresult *result = PQexec(connection, tables);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) fail("tables", PQerrorMessage(connection));
  PQclear(result);
  take_batches(connection);

  struct usage before = usage_now(0);
  uint64_t begin = now_ns();
  ends = begin + (uint64_t)(seconds * 1e9);
  struct writer *writers = calloc((size_t)connections, sizeof *writers);
  for (int i = 0; i < connections; i++) {
    writers[i].number = i;
    if (pthread_create(&writers[i].thread, NULL, write_batches, &writers[i]) != 0) fail("thread", "can't be made");
  }
  static struct histogram latency;
  double bytes = 0, waited = 0;
  for (int i = 0; i < connections; i++) {
    pthread_join(writers[i].thread, NULL);
    histogram_merge(&latency, &writers[i].latency);
    waited += (double)writers[i].waited;
  }
  for (int i = 0; i < batch_count; i++) bytes += batches[i].count;
  double took = (double)(now_ns() - begin) / 1e9;
  struct usage after = usage_now(0);
  double commits = latency.total ? (double)latency.total : 1;
  printf("{\"connections\":%d,\"logs\":\"%s\",\"bytes\":%.0f,\"commits\":%.0f,\"rate\":%.1f,\"mean_us\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,"
         "\"client_cpu_us\":%.1f,\"machine_cpu_us\":%.1f}\n",
         connections, arguments[4], bytes / batch_count, commits, commits / took, waited / commits / 1e3, histogram_quantile(&latency, 0.5) / 1e3,
         histogram_quantile(&latency, 0.99) / 1e3, (after.client - before.client) * 1e6 / commits,
         (after.machine - before.machine) * 1e6 / commits);
  result = PQexec(connection, "DROP SCHEMA bare CASCADE");
  PQclear(result);
  PQfinish(connection);
  return 0;
}
