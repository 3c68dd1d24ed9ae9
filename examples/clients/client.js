#!/usr/bin/env node
// Sends one event over the Unix socket, JSON-RPC lines, and prints where the link leads. Node's own modules only.
"use strict";
const net = require("node:net");

const path = process.env.RULED_SOCKET || "/run/ruled/ruled.sock";
const event = {
  type: "link.opened",
  subject: "device:example-node",
  data: { url: "https://app.respirelyf.com/?dl_target=paywall", logged_in: true, onboarding_seen: true },
};

function fail(message) {
  process.stderr.write(`client.js: ${message}\n`);
  process.exit(1);
}

function answered(line) {
  const reply = JSON.parse(line);
  if (reply.error) fail(`${reply.error.data.code}: ${reply.error.message}`);
  for (const failure of reply.result.failures) {
    process.stderr.write(`client.js: ${failure.plugin} failed: ${failure.message}\n`);
  }
  const decisions = reply.result.decisions.deeplinks;
  if (!decisions) fail(`no decision in ${line}`);
  process.stdout.write(`${decisions.destination}\n`);
  connection.end();
}

let received = "";
let isAnswered = false;
const connection = net.createConnection(path, () => {
  connection.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "event", params: event })}\n`);
});
connection.setEncoding("utf8");
connection.setTimeout(5000, () => fail("no answer within 5 s"));
connection.on("error", (error) => fail(error.message));
connection.on("data", (chunk) => {
  received += chunk;
  const end = received.indexOf("\n");
  if (end >= 0 && !isAnswered) {
    isAnswered = true;
    answered(received.slice(0, end));
  }
});
connection.on("close", () => {
  if (!isAnswered) fail("the daemon closed the connection before it answered");
});
