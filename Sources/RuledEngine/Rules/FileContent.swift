import Glibc

/// Whole files.
package enum FileContent {
  /// The bytes of the file at `path`, or nil when it can't be read; `errno` then tells why.
  package static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(information.st_size))
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 {
        if errno == EINTR { continue }
        return nil
      }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
    }
  }
}
