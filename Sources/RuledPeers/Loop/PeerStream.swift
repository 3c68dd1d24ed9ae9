internal import CUV
internal import Glibc
internal import RuledCore

/// The user of a stream; all calls come on the loop's thread.
protocol StreamOwner: AnyObject {
  /// The connection was made, or failed.
  func connected(_ failure: PeerError?)
  /// Bytes came; they are valid during the call.
  func received(_ bytes: ByteView)
  /// The system has accepted the bytes given to `write`.
  func wrote()
  /// The peer has closed its side: nothing more comes.
  func inputDidEnd()
  func ended(_ reason: String)
  /// Nothing can be written any more; what the peer sent before can still be read.
  func writeFailed(_ reason: String)
}

/// A stream socket of any kind, which libuv handles as TCP; confined to its loop.
///
/// An open stream keeps itself and its owner alive. After `close`, the owner gets no more calls.
final class PeerStream {
  private let loop: LoopState
  private var owner: (any StreamOwner)?
  private let tcp = UnsafeMutablePointer<uv_tcp_t>.allocate(capacity: 1)
  private let connecting = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
  private let writing = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
  private let ending = UnsafeMutablePointer<uv_shutdown_t>.allocate(capacity: 1)
  /// The most bytes that one read takes.
  var readLimit = Int.max
  private var accepted: (() -> Void)?
  private var isClosed = false

  /// A stream that is connected to nothing yet.
  init(on loop: LoopState) throws(PeerError) {
    self.loop = loop
    let status = uv_tcp_init(loop.raw, tcp)
    guard status == 0 else { throw .system("uv_tcp_init", number: -status) }
    tcp.pointee.data = Unmanaged.passRetained(self).toOpaque()
    connecting.pointee.data = tcp.pointee.data
    writing.pointee.data = tcp.pointee.data
  }

  deinit {
    tcp.deallocate()
    connecting.deallocate()
    writing.deallocate()
    ending.deallocate()
  }

  private var handle: UnsafeMutablePointer<uv_stream_t> {
    UnsafeMutableRawPointer(tcp).assumingMemoryBound(to: uv_stream_t.self)
  }

  func attach(_ owner: any StreamOwner) { self.owner = owner }

  /// Begins to connect; `connected` is called later.
  func connect(to address: NumericAddress) throws(PeerError) {
    uv_tcp_nodelay(tcp, 1)
    let status = address.withSockaddr { uv_tcp_connect(connecting, tcp, $0, streamConnected) }
    guard status == 0 else { throw .system("connect", number: -status) }
  }

  /// Binds to an address and listens; `accepted` is called for each connection that waits.
  func listen(at address: NumericAddress, accepted: @escaping () -> Void) throws(PeerError) {
    var status = address.withSockaddr { uv_tcp_bind(tcp, $0, 0) }
    if status == 0 { status = uv_listen(handle, 128, streamWasCalled) }
    guard status == 0 else { throw .system("listen", number: -status) }
    self.accepted = accepted
  }

  /// Accepts a connection that waits at a listening stream.
  func accept(from listener: PeerStream) throws(PeerError) {
    let status = uv_accept(listener.handle, handle)
    guard status == 0 else { throw .system("accept", number: -status) }
    uv_tcp_nodelay(tcp, 1)
  }

  /// Takes over a connected socket of any kind, unless this throws.
  func open(_ descriptor: Int32) throws(PeerError) {
    let status = uv_tcp_open(tcp, descriptor)
    guard status == 0 else { throw .system("uv_tcp_open", number: -status) }
  }

  /// The address that the stream is bound to, or that of its peer.
  func address(ofPeer: Bool) -> NumericAddress? {
    NumericAddress { storage, length in
      (ofPeer ? uv_tcp_getpeername(tcp, storage, length) : uv_tcp_getsockname(tcp, storage, length)) == 0
    }
  }

  func startReading() { uv_read_start(handle, streamWantsRoom, streamRead) }

  /// Leaves further input in the system's buffers.
  func stopReading() { uv_read_stop(handle) }

  /// Writes bytes, which must not change until `wrote` is called, at once if the system takes all of them; one write at a time.
  ///
  /// `uv_write` changes the events that the loop waits for, even where nothing is left to wait for.
  func write(_ bytes: ByteView) {
    let count = max(0, tryWrite(bytes))
    guard count < bytes.count else { return owner?.wrote() ?? () }
    var buffer = Self.buffer(bytes.extracting(count...))
    let status = uv_write(writing, handle, &buffer, 1, streamWrote)
    precondition(status == 0 || isClosed, "a write to an open stream is taken")
  }

  func endWriting() { uv_shutdown(ending, handle, nil) }

  /// Writes what the system accepts at once; for the last bytes before `close`.
  ///
  /// Returns how many bytes these are; negative after an error.
  @discardableResult
  func tryWrite(_ bytes: ByteView) -> Int {
    var buffer = Self.buffer(bytes)
    return Int(uv_try_write(handle, &buffer, 1))
  }

  private static func buffer(_ bytes: ByteView) -> uv_buf_t {
    uv_buf_init(
      UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: CChar.self)), UInt32(bytes.count))
  }

  /// How many bytes of the write the system has not accepted yet.
  var unwritten: Int { uv_stream_get_write_queue_size(handle) }

  /// Closes the stream; the owner gets no more calls.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    owner = nil
    accepted = nil
    uv_close(UnsafeMutableRawPointer(tcp).assumingMemoryBound(to: uv_handle_t.self), streamClosed)
  }

  // MARK: Callbacks

  fileprivate static func of(_ data: UnsafeMutableRawPointer?) -> PeerStream? {
    data.map { Unmanaged<PeerStream>.fromOpaque($0).takeUnretainedValue() }
  }

  fileprivate func noteConnected(_ status: Int32) {
    owner?.connected(status == 0 ? nil : .system("connect", number: -status))
  }

  fileprivate func noteCall(_ status: Int32) {
    if status == 0 { accepted?() }
  }

  fileprivate func giveRoom(_ buffer: UnsafeMutablePointer<uv_buf_t>) {
    buffer.pointee = uv_buf_init(
      loop.scratch.baseAddress?.assumingMemoryBound(to: CChar.self), UInt32(min(loop.scratch.count, readLimit)))
  }

  fileprivate func noteRead(_ count: Int, _ base: UnsafeMutablePointer<CChar>?) {
    if count > 0 {
      owner?.received(ByteView(start: base, count: count))
    } else if count < 0 {
      if count == Int(UV_EOF.rawValue) { owner?.inputDidEnd() } else { owner?.ended(PeerError.text(of: Int32(-count))) }
    }
  }

  fileprivate func noteWritten(_ status: Int32) {
    if status == 0 {
      owner?.wrote()
    } else {
      owner?.writeFailed(PeerError.text(of: -status))
    }
  }
}

private func streamConnected(_ request: UnsafeMutablePointer<uv_connect_t>?, _ status: Int32) {
  PeerStream.of(request?.pointee.data)?.noteConnected(status)
}

private func streamWasCalled(_ handle: UnsafeMutablePointer<uv_stream_t>?, _ status: Int32) {
  PeerStream.of(handle?.pointee.data)?.noteCall(status)
}

private func streamWantsRoom(
  _ handle: UnsafeMutablePointer<uv_handle_t>?, _ suggested: Int, _ buffer: UnsafeMutablePointer<uv_buf_t>?
) {
  guard let buffer else { return }
  PeerStream.of(handle?.pointee.data)?.giveRoom(buffer)
}

private func streamRead(
  _ handle: UnsafeMutablePointer<uv_stream_t>?, _ count: Int, _ buffer: UnsafePointer<uv_buf_t>?
) {
  PeerStream.of(handle?.pointee.data)?.noteRead(count, buffer?.pointee.base)
}

private func streamWrote(_ request: UnsafeMutablePointer<uv_write_t>?, _ status: Int32) {
  PeerStream.of(request?.pointee.data)?.noteWritten(status)
}

private func streamClosed(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
  guard let data = handle?.pointee.data else { return }
  Unmanaged<PeerStream>.fromOpaque(data).release()
}
