import Glibc
import RuledThreads
import Synchronization

/// Passes TCP connections on, and breaks them as a network does.
final class Relay: Sendable {
  /// The directions in which bytes are passed on.
  struct Directions: OptionSet, Sendable {
    let rawValue: Int
    static let there = Directions(rawValue: 1)
    static let back = Directions(rawValue: 2)
    static let both: Directions = [.there, .back]
  }

  let port: UInt16
  private let listener: Int32
  private let target: UInt16
  private let thread: Mutex<Thread?> = Mutex(nil)
  private let state = Mutex(State())

  private struct State {
    var passes = Directions.both
    var isSlow = false
    var resets = false
    var isEnded = false
    var moves = 0
  }

  /// One direction of a connection.
  private struct Flow {
    let from: Int32
    let to: Int32
    var pending: ArraySlice<UInt8> = []
    var isEnded = false
  }

  /// A connection: there and back.
  private struct Pair {
    var there: Flow
    var back: Flow

    init(near: Int32, far: Int32) {
      there = Flow(from: near, to: far)
      back = Flow(from: far, to: near)
    }
  }

  /// A relay to a port of 127.0.0.1.
  init(to target: UInt16) throws {
    self.target = target
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    precondition(isListening)
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    let started = try Thread(name: "relay") { [unowned self] in run() }
    thread.withLock { $0 = started }
  }

  /// Lets bytes pass in these directions only; connections stay open, and nobody is told.
  func pass(_ directions: Directions) { state.withLock { $0.passes = directions } }

  /// Lets at most 300 bytes a millisecond pass in each direction from now on.
  func slowDown() { state.withLock { $0.isSlow = true } }

  /// How often bytes came, in either direction.
  var moves: Int { state.withLock { $0.moves } }

  /// Resets all connections, as the kernel does for a process that was killed.
  func reset() {
    state.withLock { $0.resets = true }
    while state.withLock({ $0.resets && !$0.isEnded }) { usleep(500) }
  }

  func end() {
    state.withLock { $0.isEnded = true }
    thread.withLock { $0 }?.join()
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    return address
  }

  private func run() {
    var pairs: [Pair] = []
    while true {
      let now = state.withLock { $0 }
      if now.resets || now.isEnded {
        for pair in pairs { Self.reset(pair) }
        pairs = []
        state.withLock { $0.resets = false }
      }
      if now.isEnded { break }
      var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
      for pair in pairs {
        polled.append(Self.wish(pair.there, passes: now.passes.contains(.there)))
        polled.append(Self.wish(pair.back, passes: now.passes.contains(.back)))
      }
      if now.isSlow { usleep(1000) }
      let most = now.isSlow ? 300 : 64 << 10
      guard poll(&polled, nfds_t(polled.count), 1) > 0 else { continue }
      var kept: [Pair] = []
      let ready = polled.dropFirst().count { $0.revents != 0 }
      state.withLock { $0.moves += ready }
      for (index, var pair) in pairs.enumerated() {
        let isWhole =
          (polled[1 + 2 * index].revents == 0 || Self.move(&pair.there, upTo: most))
          && (polled[2 + 2 * index].revents == 0 || Self.move(&pair.back, upTo: most))
        if isWhole, !(pair.there.isEnded && pair.back.isEnded) { kept.append(pair) } else { Self.reset(pair) }
      }
      pairs = kept
      if polled[0].revents != 0 { accept(into: &pairs) }
    }
    close(listener)
  }

  /// What a direction waits for: room for what it has, or else bytes.
  private static func wish(_ flow: Flow, passes: Bool) -> pollfd {
    if !passes || flow.isEnded { return pollfd(fd: -1, events: 0, revents: 0) }
    if !flow.pending.isEmpty { return pollfd(fd: flow.to, events: Int16(POLLOUT), revents: 0) }
    return pollfd(fd: flow.from, events: Int16(POLLIN), revents: 0)
  }

  /// Moves what is there and fits, at most `most` bytes; false when the connection is broken.
  private static func move(_ flow: inout Flow, upTo most: Int) -> Bool {
    if flow.pending.isEmpty {
      var buffer = [UInt8](repeating: 0, count: most)
      let count = recv(flow.from, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count < 0 { return errno == EAGAIN }
      flow.pending = buffer[..<count]
      if count == 0 {
        flow.isEnded = true
        return shutdown(flow.to, Int32(SHUT_WR)) == 0
      }
    }
    let moved = flow.pending.withUnsafeBytes {
      send(flow.to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
    if moved < 0 { return errno == EAGAIN }
    flow.pending = flow.pending.dropFirst(moved)
    return true
  }

  private func accept(into pairs: inout [Pair]) {
    let near = Glibc.accept(listener, nil, nil)
    let far = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(target)
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(far, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    if isConnected { pairs.append(Pair(near: near, far: far)) } else { Self.reset(Pair(near: near, far: far)) }
  }

  private static func reset(_ pair: Pair) {
    for descriptor in [pair.there.from, pair.back.from] {
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
      close(descriptor)
    }
  }
}
