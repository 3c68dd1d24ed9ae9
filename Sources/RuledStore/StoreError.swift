import Glibc

package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A stable name that callers switch on; more may come, so it is open.
  package struct Code: RawRepresentable, Sendable, Hashable {
    /// The name as logs and `health` show it.
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// Another process, or another store in this one, has the folder open.
    package static let inUse = Code(rawValue: "in_use")
    /// A later version of the daemon wrote the store.
    package static let newerFormat = Code(rawValue: "newer_format")
    package static let diskFull = Code(rawValue: "disk_full")
    /// The operating system refused a file operation.
    package static let inputOutput = Code(rawValue: "io")
    /// Another process has removed a file of the store while it was open.
    static let removed = Code(rawValue: "removed")
    /// Stored bytes differ from the written ones.
    package static let corrupt = Code(rawValue: "corrupt")
    /// An earlier commit failed, and the store has not been reopened since.
    package static let poisoned = Code(rawValue: "poisoned")
    package static let closed = Code(rawValue: "closed")
    /// This kind of store can't do that.
    package static let unsupported = Code(rawValue: "unsupported")
    /// Anything else that the database refuses.
    package static let refused = Code(rawValue: "refused")
  }

  package var code: Code
  /// The failure and its remedy, for the operator.
  package var message: String
  /// The database's or the system's own text, may be empty.
  package var underlying: String
  /// Whether the failed writes may be on the disk: then a restart finds them, or not.
  package var isOutcomeUnknown = false

  package init(_ code: Code, _ message: String, underlying: String = "") {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  /// Whether single keys can't be read, while others may be.
  package var isDamage: Bool { code == .corrupt || code == .inputOutput }

  /// The name of the file that `underlying` names, without its folder; nil when it names none.
  package var file: String? {
    let words = underlying.split { $0 == " " || $0 == ":" || $0 == "," || $0 == ";" }
    guard let path = words.first(where: { $0.hasSuffix(".sst") || $0.hasSuffix(".log") }) else { return nil }
    return path.split(separator: "/").last.map(String.init)
  }

  package var description: String { underlying.isEmpty ? message : "\(message) (\(underlying))" }
}

extension StoreError {
  /// The error of commits after a failed one; `message` says until when.
  package static func poisoned(by failure: StoreError, _ message: String) -> StoreError {
    var error = StoreError(.poisoned, message, underlying: failure.description)
    error.isOutcomeUnknown = failure.isOutcomeUnknown  // the caller's commit may have failed in another thread's sync
    return error
  }

  /// The error of every call after the store at `path` was closed.
  static func closed(_ path: String) -> StoreError { StoreError(.closed, "the store at \(path) has been closed") }

  /// The error that stops a start, with a way on, as durable bytes or files of the log are missing or changed; `what` is the damage and the loss, in words.
  static func damagedLog(_ file: String, at offset: Int = 0, _ what: String) -> StoreError {
    StoreError(
      .corrupt,
      "\(file) is damaged at byte \(offset): \(what). Nothing was changed. Restore a backup, or run ruled --salvage with the same "
        + "--store: it keeps a copy, saves what is whole and lists the subjects concerned")
  }

  static func system(_ message: String, _ number: Int32) -> StoreError {
    let code: Code = number == ENOSPC || number == EDQUOT ? .diskFull : .inputOutput
    return StoreError(code, message, underlying: String(cString: strerror(number)))
  }
}
