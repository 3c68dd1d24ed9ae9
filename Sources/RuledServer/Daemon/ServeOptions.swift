import Glibc
import RuledCore
import RuledLua

/// What the command line of `ruled` asks for, by the conventions of getopt_long.
struct ServeOptions {
  private(set) var showsHelp = false
  private(set) var showsVersion = false
  private(set) var checks = false
  private(set) var salvages = false
  private(set) var hasManualClock = false
  /// The configuration file, if one is named.
  private(set) var config: String?
  private var rules: String?
  private var store: String?
  private var socket: String?

  private static let withValue = ["config", "rules", "store", "socket", "clock"]
  private static let all = withValue + ["check", "salvage", "help", "version"]
  private static let short: [Character: String] = [
    "c": "config", "r": "rules", "s": "store", "S": "socket", "h": "help", "V": "version",
  ]

  /// Reads the words behind the program's name.
  init(_ words: [String]) throws(StartError) {
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        guard let operand = rest.first else { return }
        throw Self.tooMany(operand)
      }
      if word.hasPrefix("--") {
        try long(word.dropFirst(2), &rest)
      } else if word.hasPrefix("-"), word != "-" {
        try short(word.dropFirst(), &rest)
      } else {
        throw Self.tooMany(word)
      }
    }
  }

  private static func tooMany(_ word: String) -> StartError {
    StartError("'\(word)' is one word too many; see ruled --help")
  }

  private mutating func long(_ text: Substring, _ rest: inout ArraySlice<String>) throws(StartError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let name = try Self.named(parts[0])
    try take(name, attached: parts.count > 1 ? parts[1] : nil, written: "--\(name)", &rest)
  }

  private mutating func short(_ text: Substring, _ rest: inout ArraySlice<String>) throws(StartError) {
    var text = text
    while let letter = text.popFirst() {
      guard let name = Self.short[letter] else { throw StartError("unknown option -\(letter); see ruled --help") }
      guard Self.withValue.contains(name) else {
        try take(name, attached: nil, written: "-\(letter)", &rest)
        continue
      }
      return try take(name, attached: text.isEmpty ? nil : String(text), written: "-\(letter)", &rest)
    }
  }

  /// The option of that name, or the only one that begins with it.
  private static func named(_ name: String) throws(StartError) -> String {
    if all.contains(name) { return name }
    let matching = name.isEmpty ? [] : all.filter { $0.hasPrefix(name) }
    if matching.count > 1 {
      throw StartError("--\(name) is ambiguous; write \(matching.map { "--\($0)" }.joined(separator: " or "))")
    }
    if let only = matching.first { return only }
    let near = NearestName.find(name, in: all).map { "did you mean --\($0)?" } ?? "see ruled --help"
    throw StartError("unknown option --\(name); \(near)")
  }

  private mutating func take(
    _ name: String, attached: String?, written: String, _ rest: inout ArraySlice<String>
  ) throws(StartError) {
    guard Self.withValue.contains(name) else {
      guard attached == nil else { throw StartError("\(written) takes no value; leave out '=' and what follows") }
      switch name {
      case "help": showsHelp = true
      case "version": showsVersion = true
      case "salvage": salvages = true
      default: checks = true
      }
      return
    }
    guard let value = attached ?? rest.popFirst(), !value.isEmpty else {
      throw StartError("\(written) needs a value; see ruled --help")
    }
    switch name {
    case "config": config = value
    case "rules": rules = value
    case "store": store = value
    case "socket": socket = value
    default:
      guard value == "manual" else {
        throw StartError("--clock takes only 'manual'; without it the machine's clock is used")
      }
      hasManualClock = true
    }
  }

  /// The configuration file's values with the command line's over them.
  func configuration() throws(StartError) -> Configuration {
    var configuration = Configuration()
    if let config {
      do throws(ConfigurationFileError) { configuration = try ConfigurationFile.load(config) } catch {
        throw StartError(error.description, isFinding: access(config, R_OK) == 0)
      }
    }
    if let rules { configuration.rules = rules }
    if let socket { configuration.socket = socket }
    if let store {
      guard let url = StoreURL(store) else {
        throw StartError("--store '\(store)' is no store; use rocksdb:PATH or memory:")
      }
      configuration.store = url
    }
    return configuration
  }
}
