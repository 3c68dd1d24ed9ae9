internal import Glibc

/// Lets a person type lines on a terminal: with the usual keys, earlier lines and completion.
final class LineEditor {
  /// What the end of a line may be completed to; each candidate replaces the line's last word.
  var completion: (String) -> [String] = { _ in [] }

  private let input: Int32 = 0
  private let output: Int32 = 1
  private var history: LineHistory
  private var line = EditedLine()
  /// Which earlier line is shown; the count of all for the new one.
  private var shown = 0
  private var typed = EditedLine()

  /// An editor of standard input and output.
  init(history: LineHistory) { self.history = history }

  /// The next line; nil when the person ends with Ctrl-D or the terminal is gone.
  func readLine(prompt: String) -> String? {
    var before = termios()
    guard tcgetattr(input, &before) == 0 else { return nil }
    var mode = before
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
    mode.c_iflag &= ~tcflag_t(IXON | ICRNL)
    tcsetattr(input, TCSADRAIN, &mode)
    defer { tcsetattr(input, TCSADRAIN, &before) }
    line = EditedLine()
    shown = history.lines.count
    while true {
      draw(prompt)
      let key = EditedLine.key { [input] in Self.byte(input) }
      switch key {
      case .enter:
        write("\n")
        history.add(line.text)
        return line.text
      case .interrupt:
        write("^C\n")
        line = EditedLine()
        shown = history.lines.count
      case .end:
        guard line.characters.isEmpty else {
          line.press(.delete)
          continue
        }
        write("\n")
        return nil
      case .tab: complete()
      case .up: show(shown - 1)
      case .down: show(shown + 1)
      case .clear: write("\u{1B}[H\u{1B}[2J")
      default: line.press(key)
      }
    }
  }

  // MARK: Earlier lines

  private func show(_ index: Int) {
    guard (0...history.lines.count).contains(index) else { return }
    if shown == history.lines.count { typed = line }
    shown = index
    line = index == history.lines.count ? typed : EditedLine(history.lines[index])
  }

  // MARK: Completion

  /// Completes what all candidates begin with; lists them if that is nothing new.
  private func complete() {
    let candidates = completion(line.head)
    guard let first = candidates.first else { return }
    let word = ReplCompletion.word(of: line.head)
    let common = candidates.dropFirst().reduce(first) { $0.commonPrefix(with: $1) }
    if common.count > word.count {
      line.removeBefore(word.count)
      line.insert(common)
      return
    }
    guard candidates.count > 1 else { return }
    write("\n" + candidates.joined(separator: "  ").printable + "\n")
  }

  // MARK: Terminal

  /// Draws the line: what of it fits on one row, with the cursor in it.
  private func draw(_ prompt: String) {
    var size = winsize()
    let columns = ioctl(output, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    let room = max(8, columns - prompt.count - 1)
    let start = max(0, line.cursor - room)
    let visible = line.characters[start..<min(line.characters.count, start + room)]
    let column = prompt.count + line.cursor - start
    write("\r\u{1B}[K\(prompt)\(String(visible).printable)\r" + (column > 0 ? "\u{1B}[\(column)C" : ""))
  }

  private func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(output, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      bytes = bytes.dropFirst(max(count, 0))
    }
  }

  private static func byte(_ input: Int32) -> UInt8? {
    var byte: UInt8 = 0
    while true {
      let count = read(input, &byte, 1)
      if count == 1 { return byte }
      if count == 0 || errno != EINTR { return nil }
    }
  }
}

extension String {
  /// What both texts begin with.
  fileprivate func commonPrefix(with other: String) -> String {
    String(zip(self, other).prefix { $0 == $1 }.map(\.0))
  }
}
