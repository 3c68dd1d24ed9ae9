import Glibc

@testable import RuledCore

/// The time zones of the host that runs the tests.
enum HostZones {
  /// The bytes of a zone's file, or nil if there is none.
  static func load(_ name: String) -> [UInt8]? {
    guard let file = fopen("/usr/share/zoneinfo/\(name)", "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = fread(&chunk, 1, chunk.count, file)
      if count == 0 { return bytes }
      bytes += chunk[..<count]
    }
  }

  /// A database over the host's zones.
  static var database: ZoneDatabase { ZoneDatabase(load: load) }

  /// Zones of all kinds: both hemispheres, odd offsets, changes at midnight, none at all.
  static let samples = [
    "UTC", "Pacific/Auckland", "America/Los_Angeles", "Asia/Kolkata", "Europe/Berlin", "Pacific/Apia", "Asia/Beirut",
    "America/Sao_Paulo", "America/Havana", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu",
    "Pacific/Kiritimati", "America/Nuuk", "Europe/Dublin", "Pacific/Chatham", "Asia/Gaza", "Africa/Cairo",
  ]
}
