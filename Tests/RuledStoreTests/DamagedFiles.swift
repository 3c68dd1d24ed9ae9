import Glibc
import TestSupport

@testable import RuledStore

extension LogSettings {
  /// A log of small segments.
  static let small = LogSettings(segmentBytes: 1 << 16)
}

extension TemporaryFolder {
  /// Copies all that is in `folder` to `target`, a new folder, as a crash would leave them.
  static func copy(_ folder: String, to target: String) {
    mkdir(target, 0o700)
    for name in names(folder) {
      let source = "\(folder)/\(name)"
      var status = stat()
      guard stat(source, &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        copy(source, to: "\(target)/\(name)")
      } else {
        copyFile(source, "\(target)/\(name)")
      }
    }
  }

  /// Flips one bit of a file.
  static func flip(bit: Int, at offset: Int, of path: String) {
    let descriptor = open(path, O_RDWR)
    defer { close(descriptor) }
    var byte: UInt8 = 0
    pread(descriptor, &byte, 1, off_t(offset))
    byte ^= 1 << UInt8(bit)
    pwrite(descriptor, &byte, 1, off_t(offset))
  }

  /// Writes zeros over a part of a file.
  static func zero(_ count: Int, at offset: Int, of path: String) {
    let descriptor = open(path, O_RDWR)
    defer { close(descriptor) }
    pwrite(descriptor, [UInt8](repeating: 0, count: count), count, off_t(offset))
  }

  private static func copyFile(_ source: String, _ target: String) {
    let from = open(source, O_RDONLY)
    let into = open(target, O_WRONLY | O_CREAT, 0o600)
    defer {
      close(from)
      close(into)
    }
    while sendfile(into, from, nil, 1 << 20) > 0 {}
  }
}
