/// Parses a command line by the conventions of getopt_long.
///
/// `--name value`, `--name=value` and an unambiguous beginning of a long name; `-n value`, `-nvalue` and short options
/// in one word; options and operands in any order; `--` ends the options, and `-` alone is an operand.
package struct ArgumentParser {
  private let options: [OptionSpec]
  private let takesOperands: Bool
  private let stopsAtOperand: Bool
  private var words: ArraySlice<String>
  private var arguments = Arguments()

  /// Parses all of `words`.
  ///
  /// - Parameters:
  ///   - words: The words that follow the program's or the command's name.
  ///   - options: The options that are allowed.
  ///   - takesOperands: Whether an error may advise to write a word as an operand. Operands are parsed in any case.
  /// - Returns: Options and operands.
  /// - Throws: For an unknown or ambiguous option, for a value that is missing or one too many.
  package static func parse(
    _ words: ArraySlice<String>, options: [OptionSpec], takesOperands: Bool = true
  ) throws(UsageError) -> Arguments {
    var parser = ArgumentParser(options: options, takesOperands: takesOperands, stopsAtOperand: false, words: words)
    try parser.run()
    return parser.arguments
  }

  /// Parses the options before the first operand.
  ///
  /// - Returns: The options, and the words from the first operand on.
  package static func parseLeading(
    _ words: ArraySlice<String>, options: [OptionSpec]
  ) throws(UsageError) -> (arguments: Arguments, remaining: ArraySlice<String>) {
    var parser = ArgumentParser(options: options, takesOperands: true, stopsAtOperand: true, words: words)
    try parser.run()
    return (parser.arguments, parser.words)
  }

  private mutating func run() throws(UsageError) {
    while let word = words.first {
      let isOption = word.hasPrefix("-") && word != "-"
      if stopsAtOperand, !isOption { return }
      words.removeFirst()
      if word == "--" {
        if stopsAtOperand { return }
        arguments.operands += words
        words = []
      } else if word.hasPrefix("--") {
        try parseLong(word.dropFirst(2))
      } else if isOption {
        try parseShort(word.dropFirst())
      } else {
        arguments.operands.append(word)
      }
    }
  }

  private mutating func parseLong(_ text: Substring) throws(UsageError) {
    let equals = text.firstIndex(of: "=")
    let option = try option(named: String(text[..<(equals ?? text.endIndex)]))
    let attached = equals.map { String(text[text.index(after: $0)...]) }
    if option.value == nil, attached != nil {
      throw UsageError("--\(option.name) takes no value; leave out '=' and what follows")
    }
    try add(option, attached: attached, written: "--\(option.name)")
  }

  private mutating func parseShort(_ text: Substring) throws(UsageError) {
    var text = text
    while let letter = text.popFirst() {
      guard let option = options.first(where: { $0.short == letter }) else {
        let advice = takesOperands ? "a value that begins with '-' goes after --" : "--help lists the options"
        throw UsageError("unknown option -\(letter); \(advice)")
      }
      guard option.value == nil else {
        return try add(option, attached: text.isEmpty ? nil : String(text), written: "-\(letter)")
      }
      try add(option, attached: nil, written: "-\(letter)")
    }
  }

  private func option(named name: String) throws(UsageError) -> OptionSpec {
    if let option = options.first(where: { $0.name == name }) { return option }
    let matching = name.isEmpty ? [] : options.filter { $0.name.hasPrefix(name) }
    if matching.count > 1 {
      let names = matching.map { "--\($0.name)" }.joined(separator: " or ")
      throw UsageError("--\(name) is ambiguous; write \(names)")
    }
    if let option = matching.first { return option }
    let hint = NearestName.hint(name, in: options.map(\.name), otherwise: "--help lists the options") { "--\($0)" }
    throw UsageError("unknown option --\(name)\(hint)")
  }

  /// Adds an option whose value, if it takes one, is attached to its name or is the next word.
  private mutating func add(_ option: OptionSpec, attached: String?, written: String) throws(UsageError) {
    var value = ""
    if let placeholder = option.value {
      guard let given = attached ?? words.popFirst() else {
        throw UsageError("\(written) needs a value: \(option.usage)")
      }
      if given.isEmpty {
        throw UsageError("\(written) needs a value that is not empty: --\(option.name) \(placeholder)")
      }
      value = given
      if !option.repeats, arguments.has(option.name) {
        throw UsageError("\(written) is given twice; give it once")
      }
    }
    arguments.values[option.name, default: []].append(value)
  }
}
