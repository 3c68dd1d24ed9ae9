import RuledCore
import RuledLua

/// What the command line of `ruled` asks for.
struct ServeOptions {
  private(set) var showsHelp = false
  private(set) var showsVersion = false
  private(set) var checks = false
  private(set) var hasManualClock = false
  private var config: String?
  private var rules: String?
  private var store: String?
  private var socket: String?

  private static let withValue = ["--config", "--rules", "--store", "--socket", "--clock"]
  private static let short = ["-c": "--config", "-r": "--rules", "-s": "--store", "-S": "--socket", "-h": "--help"]
  private static let all = withValue + ["--check", "--help", "--version"]

  /// Reads the words behind the program's name.
  init(_ words: [String]) throws(StartError) {
    var rest = words[...]
    while let word = rest.popFirst() {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = Self.short[parts[0]] ?? parts[0]
      if Self.withValue.contains(name) {
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
          throw StartError("\(name) needs a value; see ruled --help")
        }
        try take(name, value)
      } else {
        switch name {
        case "--help": showsHelp = true
        case "--version": showsVersion = true
        case "--check": checks = true
        default:
          let near = NearestName.find(name, in: Self.all).map { "; did you mean \($0)?" } ?? "; see ruled --help"
          throw StartError(
            name.hasPrefix("-") ? "unknown option \(name)\(near)" : "'\(word)' is one word too many; see ruled --help")
        }
      }
    }
  }

  private mutating func take(_ name: String, _ value: String) throws(StartError) {
    switch name {
    case "--config": config = value
    case "--rules": rules = value
    case "--store": store = value
    case "--socket": socket = value
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
        throw StartError(error.description)
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
