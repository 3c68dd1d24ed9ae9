import Glibc
import RuledCore
import RuledJSON
import RuledReports
import RuledThreads
import TestSupport
import Testing

@testable import RuledTool

/// What people see: tables, figures, trees.
struct OutputTests {
  @Test func `Columns are aligned and control characters shown`() {
    var table = Table(["A", ">N", "LAST"])
    table.add(["long cell", "1", "x"])
    table.add(["b\u{1B}\n", "234", ""])
    #expect(table.text(.plain) == "A            N  LAST\nlong cell    1  x\nb\\u{1b}\\n  234  \n")
  }

  @Test func `Text of others does not steer the terminal, and JSON stays equal`() throws {
    let value: JSONValue = ["state": "a\u{9B}31m\u{202E}b"]
    for isTerminal in [false, true] {
      let output = Output(isTerminal: isTerminal)
      ToolEnvironment(input: Input(text: ""), output: output, errors: Output(), variables: [:]).print(json: value)
      #expect(output.text.contains(#"a\u009b31m\u202eb"#))
      #expect(try JSONValue(parsing: output.text) == value)
    }
  }

  @Test(arguments: [["--help"], ["manual", "--help"], ["--version"], ["completions", "bash"]])
  func `Output that can't be written fails the command`(_ words: [String]) {
    let errors = Output()
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    let environment = ToolEnvironment(
      input: Input(text: ""), output: Output(descriptor: full), errors: errors, variables: [:])
    #expect(Tool().run(words, environment).rawValue == 2)
    #expect(errors.text == "rulectl: the output is not whole: it can't be written: No space left on device\n")
  }

  @Test func `A slow reader of a pipe that does not block gets everything`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    let text = (0..<40_000).map { "line \($0)\n" }.joined()
    let end = ends[1]
    let writer = try Thread(name: "writer") {
      let output = Output(descriptor: end)
      output.write(text)
      output.flush()
      close(end)
    }
    let input = Input(descriptor: ends[0])
    let read = try input.readAll()
    writer.join()
    close(ends[0])
    #expect(read == Array(text.utf8))
  }

  @Test func `A byte order mark at the start of a file is skipped`() throws {
    let folder = TemporaryFolder()
    folder.write("lines", "\u{FEFF}a\n\u{FEFF}b")
    let input = try Input(path: folder("lines"))
    #expect(try input.nextLine() == Array("a".utf8))
    #expect(try input.readAll() == Array("\u{FEFF}b".utf8))
    #expect(try Input(path: folder("lines")).readAll() == Array("a\n\u{FEFF}b".utf8))
  }

  @Test func `Figures are for people`() {
    #expect([0, 999, 1000, -1_234_567].map { Figures.count($0) } == ["0", "999", "1,000", "-1,234,567"])
    #expect(
      [0.25, 41, 41.5, 999.6, 1234, 250_000, 3_400_000].map(Figures.micros)
        == ["0.3 µs", "41 µs", "41.5 µs", "1000 µs", "1.2 ms", "250 ms", "3.4 s"])
    #expect(
      [12_345, 0.256, 1.7e308, -1e300].map(Figures.hundredths) == ["12,345", "0.26", "1.7e+308", "-1e+300"])
    #expect(
      [0.5, 12, 1e9, 1e10, .infinity].map(Figures.percent).suffix(3) == ["100000000000.00 %", ">1e12 %", ">1e12 %"])
    #expect([0, 59, 60, 3_661, 93_784].map { Figures.duration(seconds: $0) } == ["0s", "59s", "1m", "1h 1m", "1d 2h"])
  }

  @Test func `Lines are read whatever the size of the reads`() throws {
    let folder = TemporaryFolder()
    let lines = (0..<300).map { String(repeating: "x", count: $0 * 13 % 4001 * 3) }
    folder.write("lines", lines.joined(separator: "\n"))
    let input = try Input(path: folder("lines"))
    var read: [String] = []
    while let line = try input.nextLine() { read.append(String(decoding: line, as: UTF8.self)) }
    #expect(read == lines)
    #expect(input.consumed == input.size)
  }
}
