import Glibc
import RuledCore
import RuledEngine
import RuledIO

/// One sink: how it delivers effects, and the effects that it has to deliver.
final class Sink {
  /// How effects are delivered.
  enum Target {
    /// Not configured: effects stay in the store.
    case none
    /// Sent as HTTP requests.
    case url(URLReceiver)
    /// Handed out to whoever leases them.
    case lease
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
  /// About how many effects are given up, and how many of those the scan under way has counted so far.
  var givenUp = 0
  var scannedGivenUp = 0
  /// The effect that waits longest as far as is known, and when it was emitted, in the clock's microseconds.
  var oldest: (key: EffectKey, at: Int64)?
  /// The one that waited longest when the store was last scanned; and of those that the scan under way has found so far.
  var storedOldest: EffectKey?
  var scannedOldest: EffectKey?
  /// How many effects are leased.
  var leasedCount = 0

  /// A sink without effects.
  init(name: String, configuration: Configuration.Sink?, figures: SinkFigures) {
    self.name = name
    self.configuration = configuration
    self.figures = figures
    if let url = configuration?.url {
      target = .url(URLReceiver(url, sink: name, configuration))
    } else if let file = configuration?.file {
      target = .file(SinkFile(path: file))
    } else if configuration?.lease == true {
      target = .lease
    } else {
      target = configuration?.log == true ? .log : .none
    }
  }

  /// Whether effects can be delivered.
  var isConfigured: Bool { if case .none = target { false } else { true } }

  /// Whether the plugins' handlers make the requests.
  var callsHandlers: Bool {
    switch target {
    case .url, .lease: true
    case .none, .file, .log: false
    }
  }

  /// The queue of a plugin's effects, if it has been used.
  func existingQueue(of plugin: String) -> DeliveryQueue? {
    let name = callsHandlers ? plugin : ""
    return queues.first { $0.plugin == name }
  }

  /// The queue of a plugin's effects.
  ///
  /// Only sinks whose plugins' handlers are called have a queue for each plugin, because handlers fail by plugin; the others have one for
  /// all.
  func queue(of plugin: String) -> DeliveryQueue {
    let name = callsHandlers ? plugin : ""
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

  /// Notes that an effect does not wait any longer.
  func ended(_ key: EffectKey) {
    if oldest?.key == key { oldest = nil }
  }
}

extension Configuration.Sink {
  /// Whether effects of the sink are delivered.
  var delivers: Bool { url != nil || file != nil || log || lease }
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
        let remaining = lines.bytes.extracting(written...)
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
