import CLuaBridge
import RuledCore

private final class LineList {
  var lines: [Int] = []
}

private func takeLine(context: UnsafeMutableRawPointer?, line: Int32, runs: UInt64) {
  guard let context else { return }
  Unmanaged<LineList>.fromOpaque(context).takeUnretainedValue().lines.append(Int(line))
}

extension PluginVM {
  /// The lines of a file with code that can run, in order; empty when the file does not compile.
  package func linesOfCode(in file: SourceFile) -> [Int] {
    let list = LineList()
    guard (try? file.check()) != nil else { return [] }
    let context = Unmanaged.passUnretained(list).toOpaque()
    _ = file.text.withView { text in
      file.path.withSlice { path in rb_coverage_lines(handle, rb_slice(text), path, context, takeLine) }
    }
    let texts = file.text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return list.lines.sorted().filter { line in line <= texts.count && Self.hasCode(texts[line - 1]) }
  }

  /// Whether a line has more than a comment, `end` and closing brackets, to which the compiler attributes instructions too.
  private static func hasCode(_ line: ArraySlice<UInt8>) -> Bool {
    var text = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    if text.starts(with: "--".utf8) { return false }
    if text.starts(with: "end".utf8) { text = text.dropFirst(3) }
    if text.starts(with: "else".utf8), !text.starts(with: "elseif".utf8) { text = text.dropFirst(4) }
    return !text.allSatisfy { byte in ")}],; \t\r".utf8.contains(byte) }
  }
}
