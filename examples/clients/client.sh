#!/bin/sh
# Sends one event over HTTP on the Unix socket and prints where the link leads. Needs curl 7.76 or later.
set -eu
socket=${RULED_SOCKET:-/run/ruled/ruled.sock}

outcome=$(curl --silent --show-error --fail-with-body --max-time 5 --unix-socket "$socket" \
  --header 'Content-Type: application/cloudevents+json' \
  --data '{"type":"link.opened","subject":"device:example-shell","data":{
    "url":"https://app.respirelyf.com/?dl_target=paywall","logged_in":true,"onboarding_seen":true}}' \
  http://localhost/v1/events) || { [ -z "$outcome" ] || printf 'client.sh: %s\n' "$outcome" >&2; exit 1; }

# With jq: jq -r .decisions.deeplinks.destination
decision=$(printf '%s' "$outcome" | sed -n 's/.*"destination":"\([^"]*\)".*/\1/p')
[ -n "$decision" ] || { printf 'client.sh: no decision in %s\n' "$outcome" >&2; exit 1; }
printf '%s\n' "$decision"
