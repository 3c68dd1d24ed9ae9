import Glibc
import IOTestSupport
import RuledCore
import TestSupport
import Testing

@testable import RuledServing

@Suite struct HTTPRefusalTests {
  @Test
  func `a refused request gets one JSON error, after the responses to those before it, and the connection is closed`()
    throws
  {
    let rig = try ServerRig()
    defer { rig.stop() }
    for example in HTTPCase.refused {
      let client = HTTPClient(rig.client())
      client.client.send(HTTPCase.next + example.text)
      #expect(client.receive()?.status == 404, "\(example)")
      let refusal = client.receive()
      #expect(refusal?.status == example.status, "\(example)")
      #expect(refusal?.headers["content-type"] == "application/json", "\(example)")
      #expect(refusal?.headers["connection"] == "close", "\(example)")
      #expect(refusal?.json?["data"]?["code"]?.stringValue != nil, "\(example)")
      #expect(client.receive() == nil, "\(example)")
      #expect(client.client.receive().isEmpty, "\(example)")
    }
    #expect(eventually { rig.services.permits.count == 0 })
  }

  @Test func `a target is never cut at a NUL`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = rig.client()
    client.send("GET /healthz\0/../v1/rules HTTP/1.1\r\nHost: a\r\n\r\n")
    let answer = client.receiveAll()
    #expect(answer.hasPrefix("HTTP/1.1 400 "))
    #expect(!answer.contains("ready"))
  }

  @Test func `a smuggled event is not applied`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let event = #"{"type":"n","subject":"s1"}"#
    let hidden =
      "POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: \(event.utf8.count)\r\n\r\n\(event)"
    for framing in [
      "Content-Length : \(hidden.utf8.count)", "Transfer-Encoding: x",
      "Content-Length: 0\r\nContent-Length: \(hidden.utf8.count)",
    ] {
      let client = rig.client()
      client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n\(hidden)")
      #expect(client.receiveAll().components(of: "HTTP/1.1 ") == 1)
    }
    #expect(try ServerRig.count(of: 1, rig.client()) == 0)
  }

  @Test(arguments: [
    ("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", true, nil),
    ("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", false, "close"),
    ("GET /healthz HTTP/1.0\r\n\r\n", false, "close"),
    ("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, "keep-alive"),
  ])
  func `a connection stays open as the client wants`(_ request: String, _ staysOpen: Bool, _ field: String?) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    client.client.send(request)
    let first = client.receive()
    #expect(first?.status == 200)
    #expect(first?.headers["connection"] == field)
    #expect(first?.headers["date"]?.hasSuffix(" GMT") == true)
    client.client.send(request)
    #expect((client.receive()?.status == 200) == staysOpen)
  }

  @Test func `a client that waits with its body is asked to send it, or refused`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let event = #"{"type":"n","subject":"s1"}"#
    func head(_ length: Int) -> String {
      "POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: \(length)\r\n\r\n"
    }
    let client = HTTPClient(rig.client())
    client.client.send(head(event.utf8.count))
    #expect(client.receive()?.status == 100)
    client.client.send(event)
    #expect(client.receive()?.status == 200)
    client.client.send(head(2 << 20))
    #expect(client.receive()?.status == 413)
    #expect(client.receive() == nil)
  }

  @Test(arguments: [
    ("POST /v1/nothing", "", 404), ("PUT /v1/events", "", 405), ("POST /v1/events", "Content-Encoding: gzip\r\n", 415),
    ("POST /v1/events?x=1", "", 400),
  ])
  func `a client that waits with its body is not asked for it where the head is refused`(
    _ line: String, _ field: String, _ status: Int
  ) throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let client = HTTPClient(rig.client())
    client.client.send("\(line) HTTP/1.1\r\nHost: a\r\n\(field)Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(client.receive()?.status == status)
    #expect(client.receive() == nil)
  }

  @Test
  func `a request that is cut off is refused, and a complete one is answered after the end of the input`()
    throws
  {
    let rig = try ServerRig()
    defer { rig.stop() }
    let cut = rig.client()
    cut.send("POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n{}")
    cut.endWriting()
    #expect(cut.receiveAll().hasPrefix("HTTP/1.1 400 "))
    let whole = rig.client()
    whole.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    whole.endWriting()
    #expect(whole.receiveAll().hasPrefix("HTTP/1.1 200 "))
  }

  @Test func `a client that is still sending a long body can read its refusal`() throws {
    let rig = try ServerRig(token: "secret")
    defer { rig.stop() }
    let client = try rig.loopbackClient()
    client.send("POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n")
    client.send([UInt8](repeating: 0x20, count: 1 << 20))
    #expect(client.receiveAll().hasPrefix("HTTP/1.1 413 "))
  }
}

@Suite struct HTTPTimeTests {
  @Test func `a request that makes no progress is refused, and an idle connection is closed`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let server = rig.server
    let thread = try LoopThread()
    defer { thread.end() }
    let (partial, first) = Client.pair()
    let (idle, second) = Client.pair()
    let confined = Confined<HTTPConnectionTable>()
    let services = rig.services
    thread.post { loop in
      confined.value = try? HTTPConnectionTable(on: loop, server: server)
      for socket in [first, second] {
        let permit = services.takePermit(services.permits, for: .user(0), isAdmin: true)
        confined.value?.adopt(socket, from: .init(.web), with: permit)
      }
    }
    partial.send("POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab")
    #expect(eventually { server.usedBytes > 0 })
    thread.post { confined.value?.checkTimeouts($0.now + HTTPServer.progressTimeout / 2) }
    partial.send("c")
    thread.post { confined.value?.checkTimeouts($0.now + HTTPServer.progressTimeout + 1) }
    #expect(partial.receiveAll().hasPrefix("HTTP/1.1 408 "))
    #expect(idle.receiveAll().isEmpty)
    partial.close()
    #expect(eventually { thread.call { _ in confined.value?.isEmpty == true } })
    #expect(server.usedBytes == 0)
    thread.call { _ in
      confined.value?.close()
      confined.value = nil
    }
  }
}

extension String {
  /// How often the string contains the text.
  fileprivate func components(of text: String) -> Int {
    indices.count { self[$0...].hasPrefix(text) }
  }
}

@Suite struct HTTPMemoryTests {
  private static let head =
    "POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"

  @Test func `requests under way share one limit of memory, and small ones are served beyond it`() throws {
    let rig = try ServerRig()
    defer { rig.stop() }
    let part = [UInt8](repeating: 0x20, count: 900_000)
    let clients = (0..<120).map { _ in HTTPClient(rig.client()) }
    for client in clients {
      client.client.send(Self.head)
      client.client.send(part)
    }
    let server = rig.server
    #expect(eventually { server.usedBytes > Limits.httpBytes / 2 })
    #expect(server.usedBytes < Limits.httpBytes + 2 << 20)
    #expect(HTTPClient(rig.client()).ask("POST", "/v1/events", #"{"type":"n","subject":"s"}"#)?.status == 200)
    var refused = 0
    for client in clients {
      client.client.send([UInt8](repeating: 0x20, count: 100_000))
      let answer = client.receive()
      if answer?.status == 429 {
        refused += 1
        #expect(answer?.headers["retry-after"] == "1")
        #expect(answer?.json?["data"]?["code"] == .string("overloaded"))
        #expect(client.receive() == nil)
      } else {
        #expect(answer?.status == 400)
      }
    }
    #expect(refused > 20)
    for client in clients { client.client.close() }
    #expect(eventually { server.usedBytes == 0 })
    #expect(HTTPClient(rig.client()).ask("POST", "/v1/events", #"{"type":"n","subject":"s"}"#)?.status == 200)
  }
}
