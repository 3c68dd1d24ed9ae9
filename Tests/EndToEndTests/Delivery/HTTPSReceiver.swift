import Glibc
import TestSupport

/// A receiver over HTTPS in Python, with a certificate that openssl makes; it wants a certificate of its clients.
final class HTTPSReceiver {
  private static let program = """
    import http.server, ssl, sys
    folder = sys.argv[1]

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            with open(folder + "/requests", "a") as file:
                file.write(self.headers["idempotency-key"] + " " + body.decode() + "\\n")
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")
        def log_message(self, *arguments):
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/server.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(folder + "/client.crt")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(folder + "/port.new", "w") as file:
        file.write(str(server.server_address[1]))
    import os
    os.rename(folder + "/port.new", folder + "/port")
    server.serve_forever()
    """

  /// Holds the certificates, and what the receiver got.
  let folder = TemporaryFolder()
  private let process: pid_t

  /// Starts a receiver and waits until it listens.
  init() throws {
    for (name, subject) in [("server", "IP:127.0.0.1"), ("client", "DNS:ruled"), ("other", "DNS:other")] {
      let made = Program.run(
        "bash",
        [
          "-c",
          """
          cd "$0" && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=\(name) \
          -addext subjectAltName=\(subject) -keyout \(name).key -out \(name).crt && cat \(name).crt \(name).key > \(name).pem
          """, folder.path,
        ])
      guard made.code == 0 else { throw Client.Gone(description: made.output) }
    }
    folder.replace("receiver.py", with: Self.program)
    process = Program.spawn(
      "python3", [folder("receiver.py"), folder.path], output: folder("log"))
    guard eventually({ !folder.read("port").isEmpty }) else {
      throw Client.Gone(description: "the receiver does not listen: \(folder.read("log"))")
    }
  }

  deinit {
    kill(process, SIGKILL)
    _ = Program.wait(process)
  }

  /// The URL of a path of it.
  func url(_ path: String) -> String { "https://127.0.0.1:\(folder.read("port"))\(path)" }

  /// The ids of the effects that it got, in order.
  var ids: [String] {
    folder.read("requests").split(separator: "\n").map { String($0.prefix { $0 != " " }) }
  }
}
