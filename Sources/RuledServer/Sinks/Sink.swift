import Glibc
import RuledCore
import RuledEngine
import RuledLua

/// One sink: how it delivers effects, and the effects that it has to deliver.
final class Sink {
  /// How effects are delivered.
  enum Target {
    /// Not configured: effects stay in the store.
    case none
    /// Sent as HTTP requests.
    case url(String, SinkSecret?)
    /// Appended to a file.
    case file(SinkFile)
    /// Written to the log.
    case log
  }

  /// How many requests may be under way, each for another subject.
  static let maximumRequests = 8

  /// The name of the sink.
  let name: String
  /// The configuration that the sink was made with.
  let configuration: Configuration.Sink?
  /// How effects are delivered.
  let target: Target
  /// The counters of the sink.
  let figures: SinkFigures
  /// The loaded effects, by plugin.
  private(set) var queues: [DeliveryQueue] = []
  /// The subjects with an effect whose delivery is under way.
  var busySubjects: Set<[UInt8]> = []
  /// Effects that are delivered, expired or given up, while the store does not show it yet.
  var completed: Set<EffectKey> = []
  /// Effects that could not be read when they were next.
  var unreadable: Set<EffectKey> = []

  /// A sink without effects.
  init(name: String, configuration: Configuration.Sink?, figures: SinkFigures) {
    self.name = name
    self.configuration = configuration
    self.figures = figures
    if let url = configuration?.url {
      target = .url(url, configuration?.secretFile.map { SinkSecret(path: $0) })
    } else if let file = configuration?.file {
      target = .file(SinkFile(path: file))
    } else {
      target = configuration?.log == true ? .log : .none
    }
  }

  /// Whether effects can be delivered.
  var isConfigured: Bool { if case .none = target { false } else { true } }

  /// The queue of a plugin's effects.
  ///
  /// Only sinks with a URL have a queue for each plugin, because handlers fail by plugin; the others have one for all.
  func queue(of plugin: String) -> DeliveryQueue {
    var name = ""
    if case .url = target { name = plugin }
    if let queue = queues.first(where: { $0.plugin == name }) { return queue }
    let queue = DeliveryQueue(plugin: name)
    queues.append(queue)
    return queue
  }

  /// The queue and the subject to deliver next: of all effects that may be sent now, the one that was emitted first.
  func next(now: UInt64) -> (queue: DeliveryQueue, subject: SubjectEffects)? {
    var best: (queue: DeliveryQueue, subject: SubjectEffects)?
    for queue in queues {
      guard let subject = queue.next(now: now, where: { !busySubjects.contains($0) }) else { continue }
      if let best, best.subject.first < subject.first { continue }
      best = (queue, subject)
    }
    return best
  }

  /// Updates the counts of effects that wait and that can't be read.
  func updateFigures() {
    figures.setWaiting(queues.reduce(0) { $0 + $1.count + $1.unloadedCount })
    figures.setUnreadable(unreadable.count)
  }
}

extension Configuration.Sink {
  /// Whether effects of the sink are delivered.
  var delivers: Bool { url != nil || file != nil || log }
}

/// A secret that is read from a file and used in a request's header only; printed it shows nothing.
final class SinkSecret: CustomStringConvertible, CustomReflectable {
  private static let maximumBytes = 16 << 10

  /// The path of the file.
  let path: String
  private var text: String?

  /// The secret in a file that is not read yet.
  init(path: String) { self.path = path }

  let description = "(secret)"
  var customMirror: Mirror { Mirror(self, children: [:]) }

  /// The value of the `Authorization` header; nil when the file could not be read.
  var authorization: String? { text.map { "Bearer \($0)" } }

  /// Reads the file; returns what is wrong with it, or nil.
  ///
  /// When the file can't be read, an older secret is dropped.
  func read() -> String? {
    text = nil
    var bytes: ArraySlice<UInt8>
    do throws(RegularFile.Refusal) { bytes = try RegularFile.read(path, limit: Self.maximumBytes)[...] } catch {
      return "\(path): \(error)"
    }
    while let last = bytes.last, Self.isSpace(last) { bytes.removeLast() }
    while let first = bytes.first, Self.isSpace(first) { bytes.removeFirst() }
    guard !bytes.isEmpty else { return "\(path): holds no secret" }
    guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return "\(path): a secret is printable ASCII without white space"
    }
    text = String(decoding: bytes, as: UTF8.self)
    return nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

/// A file of JSON lines to which effects are appended; another program may rename it at any time.
final class SinkFile {
  private let path: String
  private var descriptor: Int32 = -1
  private var device: UInt64 = 0
  private var inode: UInt64 = 0

  /// The file at a path, not opened yet.
  init(path: String) { self.path = path }

  deinit { close() }

  /// Closes the file; the next `append` opens it again.
  func close() {
    if descriptor >= 0 { SystemCalls.close(descriptor) }
    descriptor = -1
  }

  /// Appends whole lines and syncs them; after an error the file contains none of them.
  func append(_ lines: ByteBuffer) throws(SystemError) {
    try open()
    let end = try size()
    var written = 0
    do throws(SystemError) {
      while written < lines.count {
        let remaining = UnsafeRawBufferPointer(rebasing: lines.bytes[written...])
        written += try SystemCalls.check("write", path) { write(descriptor, remaining.baseAddress, remaining.count) }
      }
      try sync()
    } catch {
      if written > 0 { _ = ftruncate(descriptor, end) }
      close()
      throw error
    }
  }

  /// Opens the file, unless the open one still has its name.
  private func open() throws(SystemError) {
    var status = stat()
    if descriptor >= 0 {
      if stat(path, &status) == 0, status.st_dev == device, status.st_ino == inode { return }
      close()
    }
    let isNew = access(path, F_OK) != 0
    descriptor = try SystemCalls.check("open", path) {
      Glibc.open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
    }
    do throws(SystemError) {
      try SystemCalls.check("fstat", path) { fstat(descriptor, &status) }
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
      if isNew { try syncFolder() }
      try endTornLine(status.st_size)
    } catch {
      close()
      throw error
    }
  }

  /// Ends the last line if a crash has left it without its end.
  private func endTornLine(_ size: off_t) throws(SystemError) {
    var last: UInt8 = 0
    guard size > 0, pread(descriptor, &last, 1, size - 1) == 1, last != UInt8(ascii: "\n") else { return }
    var end = UInt8(ascii: "\n")
    try SystemCalls.check("write", path) { write(descriptor, &end, 1) }
  }

  private func size() throws(SystemError) -> off_t {
    var status = stat()
    try SystemCalls.check("fstat", path) { fstat(descriptor, &status) }
    return status.st_size
  }

  /// Syncs the file; what can't be synced, such as a pipe, needs no sync.
  private func sync() throws(SystemError) {
    let (_, number) = SystemCalls.retrying { fdatasync(descriptor) }
    guard number != 0, number != EINVAL, number != EROFS else { return }
    throw SystemError(number, call: "fdatasync", context: path)
  }

  /// Makes the name of the new file durable.
  private func syncFolder() throws(SystemError) {
    let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let opened = try SystemCalls.check("open", folder) { Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    defer { SystemCalls.close(opened) }
    try SystemCalls.check("fsync", folder) { fsync(opened) }
  }
}
