import Glibc

/// The time zones that the operating system keeps under /usr/share/zoneinfo.
enum ZoneFiles {
  /// The file of the zone of that name, or nil when there is none; the name has been checked to stay within the folder.
  static func read(_ name: String) -> [UInt8]? {
    let descriptor = open("/usr/share/zoneinfo/" + name, O_RDONLY | O_CLOEXEC)
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
