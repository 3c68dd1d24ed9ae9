import Glibc
import RuledCore

/// Finds folders that belong to the running program: under the prefix that it is installed in, or in the source tree that it was built in.
package enum ProgramFolder {
  /// How many folders above the program are searched.
  private static let searched = 5

  /// The folder `installed`, such as `share/doc/ruled/docs`, or in a source tree `inSources`, that has a readable file `file`; nil if there is
  /// none.
  package static func find(installed: String, inSources: String, with file: String) -> String? {
    guard var parts = "/proc/self/exe".realPath?.split(separator: "/").dropLast() else { return nil }
    for _ in 0..<searched {
      let isBuild = parts.last == ".build"
      parts = parts.dropLast()
      let root = parts.map { "/" + $0 }.joined()
      let candidates = ["\(root)/\(installed)"] + (isBuild ? ["\(root)/\(inSources)"] : [])
      if let found = candidates.first(where: { access("\($0)/\(file)", R_OK) == 0 }) { return found }
    }
    return nil
  }
}
