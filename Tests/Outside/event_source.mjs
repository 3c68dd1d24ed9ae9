// Prints the events of the daemon at the socket as Node's EventSource gives them, one line of JSON each.
// EventSource can't speak to a Unix socket, so a proxy that only passes bytes stands between.

import net from "node:net";

const [path] = process.argv.slice(2);
const print = (value) => console.log(JSON.stringify(value));

const proxy = net.createServer((visitor) => {
  const daemon = net.connect(path);
  visitor.pipe(daemon).pipe(visitor);
  visitor.on("error", () => daemon.destroy());
  daemon.on("error", () => visitor.destroy());
});

proxy.listen(0, "127.0.0.1", () => {
  const source = new EventSource(`http://127.0.0.1:${proxy.address().port}/v1/watch`);
  source.onopen = () => print("open");
  for (const type of ["message", "changed", "lagged"]) {
    source.addEventListener(type, (event) => print([type, event.lastEventId, event.data]));
  }
});
