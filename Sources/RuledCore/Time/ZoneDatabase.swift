/// The time zones that rules may name, read on first use and kept.
package final class ZoneDatabase {  // confined: each worker has its own
  private let load: (String) -> [UInt8]?
  private var zones: [String: TimeZoneTable] = ["UTC": .utc, "Etc/UTC": .utc]

  /// A database that reads the TZif file of a zone by `load`, which answers nil when there is none.
  ///
  /// `load` gets valid names alone: it may append one to the zoneinfo folder and stays inside.
  package init(load: @escaping (String) -> [UInt8]?) { self.load = load }

  /// The zone of that name.
  ///
  /// - Throws: A sentence when the name is no IANA zone that this host knows.
  package func zone(_ name: String) throws(CalendarError) -> TimeZoneTable {
    if let known = zones[name] { return known }
    guard Self.isValid(name), let bytes = load(name), let zone = TimeZoneTable(tzif: bytes) else {
      throw CalendarError("unknown time zone \"\(name)\"")
    }
    zones[name] = zone
    return zone
  }

  /// Whether `name` has the form of an IANA zone's name: parts of letters, digits, `_`, `+` and `-` between slashes.
  ///
  /// Every zone begins with a capital, which keeps out the host's own `localtime` and the variants in `right` and
  /// `posix`.
  package static func isValid(_ name: String) -> Bool {
    guard let first = name.utf8.first, first >= UInt8(ascii: "A"), first <= UInt8(ascii: "Z"), name.utf8.count <= 64
    else { return false }
    return name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
      !part.isEmpty
        && part.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
          case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-"): true
          default: false
          }
        }
    }
  }
}
