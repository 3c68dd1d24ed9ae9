internal import RuledCore
internal import RuledStore

/// The lines that a person typed, in this and in earlier sessions.
struct LineHistory {
  /// How many are kept.
  static let most = 1000

  /// The lines, the oldest first.
  private(set) var lines: [String] = []
  private let path: String?

  /// The history of `rulectl` in the folder that the variables name; kept nowhere if they name none.
  init(_ variables: [String: String]) {
    func named(_ name: String) -> String? { variables[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    let states = named("XDG_STATE_HOME") ?? named("HOME").map { "\($0)/.local/state" }
    path = states.map { "\($0)/rulectl/history" }
    guard let path, let text = try? Input(path: path).readAll() else { return }
    lines = text.split(separator: UInt8(ascii: "\n")).suffix(Self.most).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Adds a line, unless it is empty or repeats the last one, and writes the file, which its owner alone may read.
  mutating func add(_ line: String) {
    guard !line.allSatisfy({ $0 == " " }), line != lines.last else { return }
    lines = (lines + [line]).suffix(Self.most)
    guard let path else { return }
    // A history that can't be kept is no reason to end the session.
    try? Folder.create(path.parentFolder)
    let text = Array((lines.joined(separator: "\n") + "\n").utf8)
    try? WholeFile.replace(path, with: text, forOwner: true)
  }
}
