// load: sends events to one server over a Unix socket and prints the figures as one line of JSON.
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static const char usage[] =
    "usage: load --protocol ruled|redis|tarantool --socket PATH [OPTION ...]\n"
    "  --connections N   open connections (50)\n"
    "  --pipeline N      requests in flight on each (1)\n"
    "  --subjects N      how many subjects, chosen uniformly at random (100000)\n"
    "  --sequential      take the subjects in order instead\n"
    "  --rate R          offer R requests a second, latency from the time each was due; 0: as fast as replies come\n"
    "  --warmup S        seconds before the measurement (0)\n"
    "  --seconds S       seconds of the measurement (5)\n"
    "  --requests N      end after so many requests\n"
    "  --function NAME   the function that Redis or Tarantool calls (event)\n"
    "  --type T, --data JSON   the event's type and data\n"
    "  --run TEXT        the start of every event's id; different in each run on one store\n"
    "  --seed N          of the random subjects (1)\n"
    "  --server PID      report this process's processor time\n"
    "  --show            print the first reply to standard error\n";

static const struct option long_options[] = {
    { "protocol", required_argument, 0, 'p' },    { "socket", required_argument, 0, 's' },
    { "connections", required_argument, 0, 'c' }, { "pipeline", required_argument, 0, 'd' },
    { "subjects", required_argument, 0, 'n' },    { "sequential", no_argument, 0, 'q' },
    { "rate", required_argument, 0, 'r' },        { "warmup", required_argument, 0, 'w' },
    { "seconds", required_argument, 0, 't' },     { "requests", required_argument, 0, 'm' },
    { "function", required_argument, 0, 'f' },    { "type", required_argument, 0, 'y' },
    { "data", required_argument, 0, 'a' },        { "run", required_argument, 0, 'i' },
    { "seed", required_argument, 0, 'e' },        { "server", required_argument, 0, 'v' },
    { "show", no_argument, 0, 'o' },              { "help", no_argument, 0, 'h' },
    { 0, 0, 0, 0 } };

__attribute__((noreturn)) static void refuse(const char *why) {
  fprintf(stderr, "load: %s; see load --help\n", why);
  exit(2);
}

static const struct protocol *protocol_named(const char *name) {
  const struct protocol *all[] = { &ruled_protocol, &redis_protocol, &tarantool_protocol };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i]->name, name) == 0) return all[i];
  refuse("unknown protocol");
}

static double number(const char *text, double lowest, double highest) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || value < lowest || value > highest) refuse("a number is out of range");
  return value;
}

static void print(const struct options *options, const struct results *results) {
  const struct histogram *latency = &results->latency;
  double seconds = results->seconds > 0 ? results->seconds : 1e-9;
  double client = results->after.client - results->before.client;
  double server = results->after.server - results->before.server;
  double machine = results->after.machine - results->before.machine;
  double answered = results->answered ? (double)results->answered : 1;
  printf("{\"protocol\":\"%s\",\"connections\":%u,\"pipeline\":%u,\"subjects\":%u,\"rate\":%.0f,", options->protocol->name,
         options->connections, options->pipeline, options->subjects, options->rate);
  printf("\"seconds\":%.3f,\"answered\":%llu,\"throughput\":%.0f,", seconds, (unsigned long long)results->answered,
         (double)results->answered / seconds);
  printf("\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,", histogram_quantile(latency, 0.5) / 1e3,
         histogram_quantile(latency, 0.99) / 1e3, histogram_quantile(latency, 0.999) / 1e3, latency->max / 1e3);
  printf("\"failed\":%llu,\"duplicates\":%llu,\"unfinished\":%llu,", (unsigned long long)results->failed,
         (unsigned long long)results->duplicates, (unsigned long long)results->unfinished);
  printf("\"client_cpu_us\":%.3f,\"server_cpu_us\":%.3f,\"other_cpus\":%.2f}\n", client * 1e6 / answered,
         server * 1e6 / answered, (machine - client - server) / seconds);
}

int main(int count, char **arguments) {
  struct options options = {
    .function = "event", .type = "flirt.revealed", .run = "run", .connections = 50, .pipeline = 1,
    .data = "{\"reveal_method\":\"scroll\",\"scroll_duration_ms\":840,\"flirt_index\":2,\"tone_used\":\"playful\"}",
    .subjects = 100000, .seconds = 5, .seed = 1 };
  for (int option; (option = getopt_long(count, arguments, "h", long_options, NULL)) != -1;) {
    switch (option) {
      case 'p': options.protocol = protocol_named(optarg); break;
      case 's': options.socket = optarg; break;
      case 'c': options.connections = (unsigned)number(optarg, 1, 10000); break;
      case 'd': options.pipeline = (unsigned)number(optarg, 1, 100000); break;
      case 'n': options.subjects = (unsigned)number(optarg, 1, 99999999); break;
      case 'q': options.sequential = true; break;
      case 'r': options.rate = number(optarg, 0, 1e8); break;
      case 'w': options.warmup = number(optarg, 0, 3600); break;
      case 't': options.seconds = number(optarg, 0.01, 3600); break;
      case 'm': options.requests = (uint64_t)number(optarg, 1, 1e10); break;
      case 'f': options.function = optarg; break;
      case 'y': options.type = optarg; break;
      case 'a': options.data = optarg; break;
      case 'i': options.run = optarg; break;
      case 'e': options.seed = (unsigned)number(optarg, 0, 1e9); break;
      case 'v': options.server = (pid_t)number(optarg, 1, 1e9); break;
      case 'o': options.show = true; break;
      case 'h': fputs(usage, stdout); return 0;
      default: refuse("unknown option");
    }
  }
  if (!options.protocol || !options.socket) refuse("--protocol and --socket are needed");
  static struct results results;
  pump_run(&options, &results);
  print(&options, &results);
  return results.failed || results.unfinished ? 1 : 0;
}
