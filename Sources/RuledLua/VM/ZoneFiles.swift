import Glibc
import RuledCore

/// The time zones that the operating system keeps under /usr/share/zoneinfo.
package enum ZoneFiles {
  private static let folder = "/usr/share/zoneinfo/"

  /// Whether the operating system has none, so that rules can only read the calendar of UTC.
  package static var areMissing: Bool { access(folder + ZoneDatabase.always, R_OK) != 0 }

  /// The file of the zone of that name, or nil when there is none; the name has been checked to stay within the folder.
  package static func read(_ name: String) -> [UInt8]? {
    try? RegularFile.read(folder + name, limit: 1 << 20)
  }
}
