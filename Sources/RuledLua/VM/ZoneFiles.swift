import Glibc
import RuledCore

/// The time zones that the operating system keeps under /usr/share/zoneinfo.
package enum ZoneFiles {
  private static let folder = "/usr/share/zoneinfo/"

  /// Whether the operating system has none, so that rules can only read the calendar of UTC.
  package static var areMissing: Bool { access(folder + ZoneDatabase.always, R_OK) != 0 }

  /// The file of the zone of that name, or nil when there is none; the name has been checked to stay within the folder.
  package static func read(_ name: String) -> [UInt8]? {
    let descriptor = open(folder + name, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      guard count >= 0 else { return nil }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
    }
  }
}
