import Glibc
import RuledCore
import RuledEngine
import TestSupport
import Testing

@testable import RuledServer

@Suite struct ShareChannelTests {
  @Test func `frames arrive whole and in order, whatever their size`() throws {
    let rig = try ChannelRig()
    let frames = RandomFrames(seed: 5)
    var expected: [String] = []
    rig.loop.onNextTick {
      for index in 0..<300 {
        let frame = index % 100 == 50 ? rig.large(9 << 20) : frames.next()
        if case .farewell = frame { continue }
        expected.append(frame.content)
        rig.near.send(frame)
      }
      #expect(rig.near.unsent > 27 << 20)
    }
    rig.run { rig.received.count == expected.count && !expected.isEmpty }
    #expect(rig.received == expected)
    #expect(rig.near.unsent == 0 && rig.ends.isEmpty)
    rig.end()
  }

  @Test func `both directions work at once`() throws {
    let rig = try ChannelRig()
    rig.loop.onNextTick {
      rig.near.send(rig.large(5 << 20))
      rig.far?.send(rig.large(5 << 20))
    }
    rig.run { rig.received.count == 1 && rig.answers.count == 1 }
    rig.end()
  }

  @Test func `requests and replies that follow each other share a frame`() throws {
    let rig = try ChannelRig()
    rig.loop.onNextTick {
      for number: UInt64 in 1...3 {
        rig.near.send(SharedRequest(number: number, isAdmin: false, isInBatch: true, text: ByteView("{}")))
      }
      rig.near.send(.ended(number: 4, isWhole: true))
      rig.near.send(SharedRequest(number: 5, isAdmin: true, isInBatch: false, text: ByteView("a")))
      rig.near.send(reply: ByteView("b"), to: 6)
      rig.near.send(reply: .empty, to: 7)
    }
    rig.run { rig.received.count == 4 }
    #expect(
      rig.received == [
        "requests [\"1 false true [123, 125]\", \"2 false true [123, 125]\", \"3 false true [123, 125]\"]",
        "ended(number: 4, isWhole: true)", "requests [\"5 true false [97]\"]", "replies [\"6 [98]\", \"7 []\"]",
      ])
    rig.end()
  }

  @Test func `many requests are spread over frames of a limited size`() throws {
    let rig = try ChannelRig()
    let text = ByteBuffer()
    text.append(contentsOf: String(repeating: "x", count: 100_000))
    rig.loop.onNextTick {
      for number: UInt64 in 0..<100 {
        rig.near.send(SharedRequest(number: number, isAdmin: false, isInBatch: false, text: text.bytes))
      }
    }
    rig.run { rig.requests == 100 }
    #expect(rig.received.count > 5)
    rig.end()
  }

  @Test(
    arguments: [
      [0, 0, 0, 1, 99], [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF, 1], [0, 0, 0, 2, 32, 1],
      Array("GET / HTTP/1.1\r\n".utf8),
    ] as [[UInt8]])
  func `a peer that sends nonsense is told so, and nothing more is received of it`(bytes: [UInt8]) throws {
    let rig = try ChannelRig(raw: true)
    let good = ByteBuffer()
    ShareFrame.pong(time: 1, validity: 2, now: 3).write(into: good)
    rig.write(Array(good.bytes) + bytes + Array(good.bytes))
    rig.run { !rig.ends.isEmpty }
    #expect(rig.received == ["pong(time: 1, validity: 2, now: 3)"])
    #expect(rig.ends.count == 1 && rig.ends[0].hasPrefix("the peer has sent "))
    guard case .farewell(let reason)? = rig.readRaw() else {
      Issue.record("no farewell")
      return
    }
    #expect(reason == rig.ends[0])
    rig.end()
  }

  @Test func `closing sends what waits and the reason, and tells the other side alone`() throws {
    let rig = try ChannelRig()
    rig.loop.onNextTick {
      rig.near.send(.ended(number: 1, isWhole: false))
      rig.near.close("enough")
      rig.near.send(.ended(number: 2, isWhole: false))
      #expect(!rig.near.isOpen)
    }
    rig.run { !rig.ends.isEmpty }
    #expect(rig.received == ["ended(number: 1, isWhole: false)"])
    #expect(rig.ends == ["the peer says: enough"])
    #expect(rig.nearEnds.isEmpty)
    rig.end()
  }

  @Test func `no frame is received after a channel was closed within one`() throws {
    let rig = try ChannelRig()
    rig.onReceive = { rig.far?.close("no more") }
    rig.loop.onNextTick { for number: UInt64 in 1...3 { rig.near.send(.ended(number: number, isWhole: true)) } }
    rig.run { !rig.nearEnds.isEmpty }
    #expect(rig.received.count == 1 && rig.ends.isEmpty)
    #expect(rig.nearEnds == ["the peer says: no more"])
    rig.end()
  }

  @Test func `a peer that goes within a frame ends the channel, after the frames before`() throws {
    let rig = try ChannelRig(raw: true)
    let frame = ByteBuffer()
    ShareFrame.pong(time: 1, validity: 2, now: 3).write(into: frame)
    rig.write(Array(frame.bytes) + Array(frame.bytes).dropLast())
    rig.closeRaw()
    rig.run { !rig.ends.isEmpty }
    #expect(rig.received.count == 1)
    #expect(rig.ends == ["the peer has ended the connection"])
    rig.end()
  }

  @Test func `a peer that has gone is noticed by who writes, outside of the methods, after what it sent`() throws {
    let rig = try ChannelRig(raw: true)
    let frame = ByteBuffer()
    ShareFrame.pong(time: 1, validity: 2, now: 3).write(into: frame)
    rig.write(Array(frame.bytes))
    rig.closeRaw()
    rig.loop.onNextTick {
      let far = rig.far
      far?.send(.ended(number: 1, isWhole: true))
      far?.flush()
      #expect(rig.ends.isEmpty && far?.isOpen == true)
    }
    rig.run { !rig.ends.isEmpty }
    #expect(rig.received.count == 1 && rig.ends.count == 1)
    rig.end()
  }

  @Test func `a frame that is too large to be sent ends the channel`() throws {
    let rig = try ChannelRig()
    rig.loop.onNextTick {
      rig.near.send(.ended(number: 1, isWhole: true))
      rig.near.flush()
      rig.near.send(rig.large(ChannelRig.mostBytes))
      #expect(rig.near.isOpen && rig.nearEnds.isEmpty)
    }
    rig.run { !rig.nearEnds.isEmpty && !rig.ends.isEmpty }
    #expect(rig.nearEnds[0].contains("can't be sent"))
    #expect(rig.received == ["ended(number: 1, isWhole: true)"])
    rig.end()
  }
}

/// Two channels over a socket pair on one loop; or one, and the bare socket at its other end.
private final class ChannelRig {
  static let mostBytes = 64 << 20
  let loop: EventLoop
  var received: [String] = []
  var answers: [String] = []
  var requests = 0
  var ends: [String] = []
  var nearEnds: [String] = []
  var onReceive: () -> Void = {}
  var far: ShareChannel?
  private var nearChannel: ShareChannel?
  private var socket: Int32?
  private var kept: [ByteBuffer] = []

  /// The channel that sends.
  var near: ShareChannel {
    guard let nearChannel else { fatalError("the rig has a bare socket") }
    return nearChannel
  }

  init(raw: Bool = false) throws {
    loop = try EventLoop()
    let pair = Client.sockets()
    let senders = MessageSenders()
    far = try ShareChannel(
      on: loop, PlainSocket(pair[0]), senders: senders,
      receive: { [unowned self] frame in
        received.append(frame.content)
        if case .requests(let list) = frame { requests += list.count }
        onReceive()
      }, ended: { [unowned self] in ends.append($0) })
    if raw {
      socket = pair[1]
    } else {
      nearChannel = try ShareChannel(
        on: loop, PlainSocket(pair[1]), senders: senders, mostBytes: Self.mostBytes,
        receive: { [unowned self] in answers.append($0.content) },
        ended: { [unowned self] in nearEnds.append($0) })
    }
  }

  /// Runs the loop until `condition` holds, for 30 s at most.
  func run(until condition: @escaping () -> Bool) {
    let limit = loop.now + 30_000
    do {
      let timer = try loop.timer(after: 0, every: 1) { [unowned self] in
        if condition() || loop.now > limit { loop.stop() }
      }
      loop.run()
      timer.close()
    } catch { Issue.record("\(error)") }
    #expect(condition())
  }

  /// A frame with that many bytes of text.
  func large(_ count: Int) -> ShareFrame {
    let text = ByteBuffer(capacity: count)
    text.append(contentsOf: String(repeating: "0123456789abcdef", count: count / 16))
    kept.append(text)
    return .requests([SharedRequest(number: 1, isAdmin: false, isInBatch: false, text: text.bytes)])
  }

  func write(_ bytes: [UInt8]) {
    guard let socket else { return }
    let count = bytes.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    #expect(count == bytes.count)
  }

  /// The frame that came at the bare socket.
  func readRaw() -> ShareFrame? {
    guard let socket else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(socket, &bytes, bytes.count, 0)
    return bytes[..<max(0, count)].withView { ShareFrame($0, senders: MessageSenders()) }
  }

  func closeRaw() {
    if let socket { Glibc.close(socket) }
    socket = nil
  }

  func end() {
    closeRaw()
    far?.close("the test is over")
    nearChannel?.close("the test is over")
    loop.close()
  }
}
