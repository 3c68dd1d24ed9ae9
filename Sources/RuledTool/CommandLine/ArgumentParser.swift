/// Takes words apart by the conventions of getopt_long.
///
/// `--name value`, `--name=value` and an unambiguous beginning of a long name; `-n value`, `-nvalue` and short options
/// in one word; options and operands in any order; `--` ends the options, and `-` alone is an operand.
package struct ArgumentParser {
  private let options: [OptionSpec]
  private let stopsAtOperand: Bool
  private var words: ArraySlice<String>
  private var result = Arguments()

  /// Parses all of `words`.
  package static func parse(_ words: ArraySlice<String>, options: [OptionSpec]) throws(ToolError) -> Arguments {
    var parser = ArgumentParser(options: options, stopsAtOperand: false, words: words)
    try parser.run()
    return parser.result
  }

  /// Parses the options that stand before the first operand, and leaves the rest.
  package static func parseLeading(
    _ words: ArraySlice<String>, options: [OptionSpec]
  ) throws(ToolError) -> (Arguments, rest: ArraySlice<String>) {
    var parser = ArgumentParser(options: options, stopsAtOperand: true, words: words)
    try parser.run()
    return (parser.result, parser.words)
  }

  private init(options: [OptionSpec], stopsAtOperand: Bool, words: ArraySlice<String>) {
    self.options = options
    self.stopsAtOperand = stopsAtOperand
    self.words = words
  }

  private mutating func run() throws(ToolError) {
    while let word = words.first {
      if word == "--" {
        words.removeFirst()
        if !stopsAtOperand {
          result.operands += words
          words = []
        }
        return
      }
      if word.hasPrefix("--") {
        words.removeFirst()
        try long(word.dropFirst(2))
      } else if word.hasPrefix("-"), word != "-" {
        words.removeFirst()
        try short(word.dropFirst())
      } else if stopsAtOperand {
        return
      } else {
        words.removeFirst()
        result.operands.append(word)
      }
    }
  }

  private mutating func long(_ text: Substring) throws(ToolError) {
    let equals = text.firstIndex(of: "=")
    let option = try named(String(text[..<(equals ?? text.endIndex)]))
    let attached = equals.map { String(text[text.index(after: $0)...]) }
    if option.value == nil, attached != nil {
      throw ToolError("--\(option.name) takes no value; leave out '=' and what follows")
    }
    try take(option, attached, written: "--\(option.name)")
  }

  private mutating func short(_ text: Substring) throws(ToolError) {
    var text = text
    while let letter = text.popFirst() {
      guard let option = options.first(where: { $0.short == letter }) else {
        throw ToolError("unknown option -\(letter); a value that begins with '-' goes after --")
      }
      guard option.value == nil else {
        try take(option, text.isEmpty ? nil : String(text), written: "-\(letter)")
        return
      }
      try take(option, nil, written: "-\(letter)")
    }
  }

  private func named(_ name: String) throws(ToolError) -> OptionSpec {
    if let option = options.first(where: { $0.name == name }) { return option }
    let matching = name.isEmpty ? [] : options.filter { $0.name.hasPrefix(name) }
    if matching.count > 1 {
      let names = matching.map { "--\($0.name)" }.joined(separator: " or ")
      throw ToolError("--\(name) is ambiguous; write \(names)")
    }
    if let option = matching.first { return option }
    if let meant = Suggestion.nearest(to: name, among: options.map(\.name)) {
      throw ToolError("unknown option --\(name); did you mean --\(meant)?")
    }
    throw ToolError("unknown option --\(name)")
  }

  private mutating func take(_ option: OptionSpec, _ attached: String?, written: String) throws(ToolError) {
    var value = ""
    if let placeholder = option.value {
      guard let given = attached ?? words.popFirst() else {
        throw ToolError("\(written) needs a value: \(option.usage)")
      }
      if given.isEmpty {
        throw ToolError("\(written) needs a value that is not empty: --\(option.name) \(placeholder)")
      }
      value = given
      if !option.repeats, result.values[option.name] != nil {
        throw ToolError("\(written) is given twice; give it once")
      }
    }
    result.values[option.name, default: []].append(value)
  }
}
