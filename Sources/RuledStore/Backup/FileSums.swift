/// Called often during a long copy, or a check of one, with the number of bytes since the last call; it may throw to stop.
package typealias CopyProgress = (Int) throws(StoreError) -> Void

/// Copies of a store's files with their checksums.
package enum FileSums {
  /// The paths of the files below `folder`, from there on, in order of name.
  package static func names(in folder: String) throws(StoreError) -> [String] {
    try BackupFiles.list(folder).map(\.name)
  }

  /// Copies all files below `folder` into the new folder `target`, durably; gives them with their checksums, in order of name.
  package static func copyAll(
    from folder: String, to target: String, progress: CopyProgress
  ) throws(StoreError) -> [FileSum] {
    let names = try names(in: folder)
    return try BackupFiles.writeFiles(names, to: target) { () throws(StoreError) in
      var sums: [FileSum] = []
      for name in names {
        let sum = try FileSum.read(name, in: folder, copyTo: target) { (part) throws(StoreError) in
          try progress(part.count)
        }
        sums.append(sum)
      }
      return sums
    }
  }

  /// Copies the files of a list from `folder` into the new folder `target`, durably; throws `corrupt` for a file that differs from the list.
  package static func copy(
    _ files: [FileSum], from folder: String, to target: String, progress: CopyProgress
  ) throws(StoreError) {
    try BackupFiles.writeFiles(files.map(\.name), to: target) { () throws(StoreError) in
      for file in files {
        let copied = try FileSum.read(file.name, in: folder, copyTo: target) { (part) throws(StoreError) in
          try progress(part.count)
        }
        guard copied == file else { throw damaged("\(folder)/\(file.name)") }
      }
    }
  }

  /// Makes the files of a list in the new folder `target`, durably: `fetch` gives each one's bytes to its receiver.
  package static func receive(
    _ files: [FileSum], into target: String, _ fetch: (FileSum, FileReceiver) throws(StoreError) -> Void
  ) throws(StoreError) {
    try BackupFiles.writeFiles(files.map(\.name), to: target) { () throws(StoreError) in
      for file in files { try fetch(file, FileReceiver(file.name, in: target)) }
    }
  }

  /// Reads the files of a list in `folder`; throws `corrupt` for a file that differs from the list.
  package static func check(_ files: [FileSum], in folder: String, progress: CopyProgress) throws(StoreError) {
    for file in files {
      let found = try FileSum.read(file.name, in: folder, fromDisk: true) { (part) throws(StoreError) in
        try progress(part.count)
      }
      guard found == file else { throw damaged("\(folder)/\(file.name)") }
    }
  }

  private static func damaged(_ path: String) -> StoreError {
    StoreError(.corrupt, "the file \(path) is damaged: its bytes are not those that were written")
  }
}
