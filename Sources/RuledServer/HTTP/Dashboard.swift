/// The page at `/`: the state of the daemon and its plugins, which its script reads from the API every 5 seconds.
enum Dashboard {
  /// The page; it loads nothing from other hosts.
  static var response: HTTPResponse {
    var response = HTTPResponse(200, type: "text/html; charset=utf-8", Array(page.utf8))
    response.headers.append(
      (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
      ))
    return response
  }

  private static let page = """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>ruled</title>
    <style>
      :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
      body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
      table { border-collapse: collapse; width: 100%; }
      th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8886; }
      td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
    </style>
    </head>
    <body>
    <h1>ruled</h1>
    <p id="health" role="status">…</p>
    <ul id="problems"></ul>
    <table>
    <thead><tr><th>plugin</th><th>version</th><th class="number">runs</th><th class="number">failures</th>
    <th class="number">p50 µs</th><th class="number">p99 µs</th></tr></thead>
    <tbody id="plugins"></tbody>
    </table>
    <script>
    const get = async (path) => (await fetch(path)).json();
    const fill = (parent, tag, texts) => parent.replaceChildren(...texts.map((text) => {
      const element = document.createElement(tag);
      element.textContent = text;
      return element;
    }));
    const show = async () => {
      try {
        const health = await get("/healthz");
        document.getElementById("health").textContent =
          `${health.status}, revision ${health.revision}, store ${health.store}, ${health.workers} workers, up ${health.uptime_s} s`;
        fill(document.getElementById("problems"), "li", health.problems ?? []);
        const rules = await get("/v1/rules");
        const body = document.getElementById("plugins");
        body.replaceChildren(...(rules.plugins ?? []).map((plugin) => {
          const row = document.createElement("tr");
          fill(row, "td", [plugin.name, plugin.version, plugin.runs, plugin.failures,
            Math.round(plugin.p50_us), Math.round(plugin.p99_us)]);
          [...row.children].slice(2).forEach((cell) => cell.className = "number");
          return row;
        }));
      } catch (error) {
        document.getElementById("health").textContent = `no answer: ${error.message}`;
      }
    };
    show();
    setInterval(show, 5000);
    </script>
    </body>
    </html>
    """
}
