import Glibc
import IOTestSupport
import RuledCore
import RuledThreads
import TestSupport
import Testing

@testable import RuledIO

@Suite struct ConnectionTests {
  @Test func `a line that comes byte by byte is one line`() throws {
    let server = try EchoServer()
    defer { server.end() }
    let client = server.connect()
    for byte in Array("{\"a\":1}\n".utf8) {
      client.send([byte])
      #expect(eventually { unreadBytes(of: client.descriptor) == 0 })
    }
    #expect(client.receive(lines: 1) == "{\"a\":1}\n")
    #expect(server.seen.lines == 1)
  }

  @Test func `ten thousand lines in one write are answered in order`() throws {
    let server = try EchoServer()
    defer { server.end() }
    let client = server.connect()
    let text = (0..<10_000).map { "{\"id\":\($0)}\n" }.joined()
    let writer = try Thread.start(name: "writer") { [descriptor = client.descriptor] in
      let client = Client(dup(descriptor))
      client.send(text)
    }
    #expect(client.receive(lines: 10_000) == text)
    writer.join()
  }

  @Test func `a slow reader limits the buffer and gets all bytes in the end`() throws {
    var limits = ConnectionLimits()
    limits.unsentBytes = 100_000
    let server = try EchoServer(limits: limits)
    defer { server.end() }
    let client = server.connect()
    let line = "[" + String(repeating: "x", count: 998) + "]"
    let writer = try Thread.start(name: "writer") { [descriptor = client.descriptor] in
      let client = Client(dup(descriptor))
      for _ in 0..<5000 { client.send(line + "\n") }
      client.endWriting()
    }
    #expect(eventually { server.withTable { table in table.contains { $0.isPaused } } })
    #expect(server.seen.lines < 5000)
    let all = client.receiveAll()
    writer.join()
    #expect(all.utf8.count == 5000 * 1001)
    #expect(server.seen.mostUnsent <= 100_000 + 1001)
    #expect(eventually { server.seen.closed == 1 })
  }

  @Test func `a connection whose replies wait for others is not read from`() throws {
    var limits = ConnectionLimits()
    limits.unsentBytes = 1_000
    let server = try EchoServer(limits: limits)
    defer { server.end() }
    let client = server.connect()
    client.send("[1]\n")
    #expect(client.receive(lines: 1) == "[1]\n")
    server.withTable { $0.forEach { $0.countWaiting(1_001) } }
    client.send("[2]\n")
    #expect(eventually { server.withTable { table in table.contains { $0.isPaused } } })
    #expect(server.seen.lines == 1)
    server.withTable { $0.forEach { $0.countWaiting(-1_001) } }
    #expect(client.receive(lines: 1) == "[2]\n")
  }

  @Test func `too many requests in flight pause reading until half are done`() throws {
    var limits = ConnectionLimits()
    limits.requestsInFlight = 10
    let server = try EchoServer(limits: limits, holdsReplies: true)
    defer { server.end() }
    let client = server.connect()
    client.send(String(repeating: "{}\n", count: 25))
    #expect(eventually { server.seen.lines == 10 })
    server.answer()
    #expect(eventually { server.seen.lines == 20 })
    server.answer()
    #expect(eventually { server.seen.lines == 25 })
    server.answer()
    #expect(client.receive(lines: 25) == String(repeating: "{}\n", count: 25))
  }

  @Test func `after a half-close the unterminated line is served, and replies in flight still come`() throws {
    let server = try EchoServer(holdsReplies: true)
    defer { server.end() }
    let client = server.connect()
    client.send("{\"a\":1}\n\n  \r\n{\"b\":2}")
    client.endWriting()
    #expect(eventually { server.seen.lines == 2 })
    #expect(server.seen.closed == 0)
    server.answer()
    #expect(client.receiveAll() == "{\"a\":1}\n{\"b\":2}\n")
    #expect(eventually { server.seen.closed == 1 })
  }

  @Test func `a line that is too long is reported once and the next one is served`() throws {
    var limits = ConnectionLimits()
    limits.lineBytes = 300_000
    let server = try EchoServer(limits: limits)
    defer { server.end() }
    let client = server.connect()
    let fits = "{" + String(repeating: "y", count: 299_999)
    client.send("{}\n{" + String(repeating: "x", count: 2_000_000) + "\n[1]\n")
    #expect(client.receive(lines: 3) == "{}\ntoo long\n[1]\n")
    let writer = try Thread.start(name: "writer") { [descriptor = client.descriptor] in
      Client(dup(descriptor)).send(fits + "\n")
    }
    #expect(client.receive(lines: 1) == fits + "\n")
    writer.join()
    #expect(server.seen.tooLong == 1)
  }

  @Test func `a connection of another protocol is passed on unread`() throws {
    let server = try EchoServer()
    defer { server.end() }
    let client = server.connect()
    client.send("GET / HTTP/1.1\r\n")
    #expect(eventually { server.seen.otherProtocol.count == 1 })
    let taken = Client(try #require(server.seen.otherProtocol.first))
    #expect(String(decoding: taken.receive(), as: UTF8.self) == "GET / HTTP/1.1\r\n")
    #expect(server.withTable { $0.count } == 0)
    #expect(server.seen.closed == 0)
  }

  @Test(arguments: ["{}\n", "[]\n", " {}\n", "\t{}\n", "\n{}\n", "\r\n{}\n"])
  func `the first byte decides for lines`(text: String) throws {
    let server = try EchoServer()
    defer { server.end() }
    let client = server.connect()
    client.send(text)
    #expect(!client.receive(lines: 1).isEmpty)
  }

  @Test func `the lines of a client that sends and closes are served`() throws {
    let server = try EchoServer()
    defer { server.end() }
    let client = server.connect()
    client.send("{}\n")
    _ = client.receive(1)
    client.send(String(repeating: "{}\n", count: 3000))
    client.close()
    #expect(eventually { server.seen.closed == 1 })
    #expect(server.seen.lines == 3001)
    #expect(server.withTable { $0.count } == 0)
  }

  @Test func `a client that never reads is closed`() throws {
    var limits = ConnectionLimits()
    limits.unsentBytes = 10_000
    limits.stallMilliseconds = 200
    let server = try EchoServer(limits: limits)
    defer { server.end() }
    let client = server.connect()
    let lines = Array(String(repeating: "{" + String(repeating: "z", count: 98) + "}\n", count: 100).utf8)
    #expect(
      eventually {
        _ = client.sendAvailable(lines)
        return server.seen.closed == 1
      })
  }

  @Test func `a client that leaves more replies unread than memory is left for is closed`() throws {
    var limits = ConnectionLimits()
    let memory = MemoryBudget(6 << 20)
    limits.outputMemory = memory
    let server = try EchoServer(limits: limits)
    defer { server.end() }
    let clients = (0..<2).map { _ in server.connect() }
    for client in clients {
      client.send("{1}\n")
      #expect(client.receive(lines: 1) == "{1}\n")
    }
    let replies = [UInt8](repeating: 0x78, count: 5 << 20)
    server.withTable { table in replies.withView { bytes in table.forEach { $0.addOutput(bytes) } } }
    #expect(eventually { server.seen.closed == 1 })
    #expect((2 << 20...6 << 20).contains(memory.reservedBytes))
    for client in clients { client.close() }
    #expect(eventually { memory.reservedBytes == 0 })
  }

  @Test func `incomplete long lines share one limit of memory`() throws {
    var limits = ConnectionLimits()
    let memory = MemoryBudget(4 << 20)
    limits.lineMemory = memory
    let server = try EchoServer(limits: limits)
    defer { server.end() }
    let part = [UInt8(ascii: "{")] + [UInt8](repeating: 0x78, count: 900_000)
    let clients = (0..<12).map { _ in server.connect() }
    for client in clients { client.send(part) }
    #expect(eventually { memory.reservedBytes > 2 << 20 })
    #expect(memory.reservedBytes <= 4 << 20)
    let other = server.connect()
    other.send("{short}\n")
    #expect(other.receive(lines: 1) == "{short}\n")
    var refused = 0
    for client in clients {
      client.send("\n{next}\n")
      let answers = client.receive(lines: 2).split(separator: "\n")
      #expect(answers.last == "{next}")
      if answers.first == "out of memory" { refused += 1 }
    }
    #expect((8..<12).contains(refused))
    #expect(eventually { memory.reservedBytes == 0 })
  }

  @Test func `a long line that stalls ends its connection, a short one may wait`() throws {
    var limits = ConnectionLimits()
    limits.stallMilliseconds = 200
    let server = try EchoServer(limits: limits)
    defer { server.end() }
    let (long, short) = (server.connect(), server.connect())
    short.send("{sho")
    long.send([UInt8(ascii: "{")] + [UInt8](repeating: 0x78, count: 200_000))
    #expect(long.receive().isEmpty)
    #expect(eventually { server.seen.closed == 1 })
    short.send("rt}\n")
    #expect(short.receive(lines: 1) == "{short}\n")
  }

  @Test func `a token never finds a later connection in the same slot`() throws {
    let server = try EchoServer()
    defer { server.end() }
    let first = server.connect()
    #expect(eventually { server.seen.tokens.count == 1 })
    first.close()
    #expect(eventually { server.seen.closed == 1 })
    let second = server.connect()
    #expect(eventually { server.seen.tokens.count == 2 })
    let tokens = server.seen.tokens
    #expect(tokens[0].slot == tokens[1].slot)
    #expect(server.withTable { $0[tokens[0]] == nil })
    #expect(server.withTable { $0[tokens[1]] != nil })
    second.close()
  }

  @Test func `the peer is known`() throws {
    let server = try EchoServer()
    defer { server.end() }
    let client = server.connect()
    #expect(eventually { server.seen.peers.count == 1 })
    #expect(server.seen.peers.map { [$0.uid, $0.gid] } == [[geteuid(), getegid()]])
    client.close()
  }

  @Test func `draining answers the requests received whole, and closes`() throws {
    let server = try EchoServer(holdsReplies: true)
    defer { server.end() }
    let busy = server.connect()
    let idle = server.connect()
    busy.send("{\"a\":1}\n{\"b\":2}\n{\"half")
    #expect(eventually { server.seen.lines == 2 })
    server.thread.post { _ in }
    server.withTable { $0.drain() }
    #expect(idle.receiveAll().isEmpty)
    server.answer()
    #expect(busy.receiveAll() == "{\"a\":1}\n{\"b\":2}\n")
    #expect(eventually { server.seen.closed == 2 })
  }
}

extension ConnectionTable {
  /// Whether some open connection satisfies `predicate`.
  fileprivate func contains(_ predicate: (Connection) -> Bool) -> Bool {
    var found = false
    forEach { found = found || predicate($0) }
    return found
  }
}
