internal import CEdit

/// Lets a person type lines on a terminal with libedit: its keys, earlier lines and completion.
final class LineEditor {
  /// The candidates for the end of a line; each replaces the line's last word.
  var completion: (String) -> [String] = { _ in [] }

  private var history: LineHistory
  private let output: Output
  private var editor: OpaquePointer?

  /// An editor of a terminal; nil if it can't be edited.
  init?(history: LineHistory, input: Int32 = 0, output: Int32 = 1) {
    self.history = history
    self.output = Output(descriptor: output)
    editor = ce_open(input, output, completeLine, Unmanaged.passUnretained(self).toOpaque())
    guard editor != nil else { return nil }
    for line in history.lines { ce_remember(editor, line) }
  }

  deinit { if let editor { ce_close(editor) } }

  /// The next line; nil when the person ends with Ctrl-D or the terminal is gone.
  func readLine(prompt: String) -> String? {
    guard let bytes = prompt.withCString({ ce_read(editor, $0) }) else { return nil }
    let line = String(String(cString: bytes).prefix { $0 != "\n" })
    history.add(line)
    if history.lines.last == line { ce_remember(editor, line) }
    return line
  }

  /// Completes the common beginning of all candidates; lists them if that is nothing new.
  fileprivate func complete(_ head: String) {
    let candidates = completion(head)
    guard let first = candidates.first else { return }
    let word = ReplCompletion.word(of: head)
    let common = candidates.dropFirst().reduce(first) { String(zip($0, $1).prefix { $0 == $1 }.map(\.0)) }
    if common.count > word.count { return ce_replace(editor, Int32(word.unicodeScalars.count), common) }
    guard candidates.count > 1 else { return }
    output.write("\n" + candidates.joined(separator: "  ").printable + "\n")
  }
}

private func completeLine(context: UnsafeMutableRawPointer?, head: UnsafePointer<CChar>?) {
  guard let context, let head else { return }
  Unmanaged<LineEditor>.fromOpaque(context).takeUnretainedValue().complete(String(cString: head))
}
