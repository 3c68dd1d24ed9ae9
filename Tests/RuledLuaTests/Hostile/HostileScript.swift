import RuledLua

/// A script that tries to hold on to its host, and the ways in which it may end.
struct HostileScript: Sendable, CustomStringConvertible {
  /// How a script may end.
  struct Ends: OptionSet {
    let rawValue: Int
    /// It runs to its end and has done no harm.
    static let done = Ends(rawValue: 1)
    /// It fails with an error.
    static let error = Ends(rawValue: 2)
    /// It is stopped for its instructions.
    static let instructions = Ends(rawValue: 4)
    /// It is stopped for its memory.
    static let memory = Ends(rawValue: 8)
    /// It is stopped for its processor time.
    static let time = Ends(rawValue: 16)
    /// It fails for a value in the state.
    static let state = Ends(rawValue: 32)
    /// It fails for a value that it hands over.
    static let value = Ends(rawValue: 64)
    /// It does not load.
    static let refused = Ends(rawValue: 128)
  }

  let name: String
  let ends: Ends
  /// What stands at file level.
  let load: String
  let run: String

  init(_ name: String, _ ends: Ends, load: String = "", run: String = "") {
    self.name = name
    self.ends = ends
    self.load = load
    self.run = run
  }

  /// What it may use.
  ///
  /// A slow host must not stop a script for its time that has to end by another limit, so such a script has plenty of it. The others have
  /// less than rules do by default, as many of them use all of it.
  var budget: Budget { Budget(processorTime: ends.contains(.time) ? 20_000 : 2_000_000) }

  var description: String { name }

  var source: String {
    """
    plugin { name = "hostile", version = "1.0.0", sinks = { "client" } }
    \(load)
    rule "run" { on = "*", run = function(event, state)
    \(run)
    end }
    """
  }

  static let all = loops + callbacks + native + memory + operations + recursion + forbidden + sources
}
