import Glibc
package import RuledCore

package struct StartError: Error, CustomStringConvertible {
  /// One sentence with the problem and its remedy.
  package let description: String
  /// Whether `ruled --check` reports it as a finding; otherwise the check itself has failed.
  package let isFinding: Bool
  /// Whether the next start fails too until an operator changes the configuration, the rules, the store or the limits of the unit.
  let isLasting: Bool
  /// The problems of the configuration file, as `reload` answers with them: `[{file, line, message}]`.
  package var errors: JSONValue = []

  /// A reason that is no finding and may pass by itself, such as a store that another process holds.
  package init(_ description: String) { self.init(description, isFinding: false, isLasting: false) }

  package init(_ description: String, isFinding: Bool = false, isLasting: Bool) {
    self.description = description
    self.isFinding = isFinding
    self.isLasting = isLasting
  }

  /// The exit code of a program that does not start; `isService` is whether systemd has started it.
  ///
  /// The units name the second code in `RestartPreventExitStatus=`.
  package func exitCode(isService: Bool) -> Int32 { isService && isLasting ? Self.configurationCode : 2 }

  /// `EX_CONFIG` of sysexits.h.
  private static let configurationCode: Int32 = 78

  /// Writes what `print` has left in its buffer; throws if that can't be written, as on a full disk.
  package static func checkPrinted() throws(StartError) {
    guard fflush(nil) != 0 else { return }
    throw StartError("the output is not whole: it can't be written: \(String(cString: strerror(errno)))")
  }

  /// Writes each line of the reason on standard error, after the program's name, unless nobody reads them within two seconds.
  package func complain(as program: String) {
    let lines = description.split(separator: "\n").map { "\(program): \(String($0).printable)\n" }
    _ = StandardErrorLog.write(lines.joined(), within: 2_000)
  }
}
