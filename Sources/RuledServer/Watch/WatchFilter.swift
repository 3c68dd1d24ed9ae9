import RuledEngine
import RuledWire

/// Which changes a watcher wants to be told.
struct WatchFilter: Sendable {
  private let subject: [UInt8]?
  private let prefix: [UInt8]
  private let plugins: [[UInt8]]?

  /// What the params of `watch` ask for.
  init(_ params: WatchParams) {
    subject = params.subject.map { Array($0.utf8) }
    prefix = Array(params.prefix.utf8)
    plugins = params.plugins.map { names in names.map { Array("\"\($0)\"".utf8) } }
  }

  /// Whether the change is wanted.
  func wants(_ change: ChangeLog.View) -> Bool {
    if let subject, !change.subject.elementsEqual(subject) { return false }
    guard change.subject.starts(with: prefix) else { return false }
    guard let plugins else { return true }
    return change.plugins.split(separator: UInt8(ascii: ",")).contains { name in
      plugins.contains { $0.elementsEqual(name) }
    }
  }
}
