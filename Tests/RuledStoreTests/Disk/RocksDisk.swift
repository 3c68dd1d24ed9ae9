import CRocksEnv
import CSimulatedFiles
import RuledCore
import RuledThreads

@testable import RuledStore

/// A simulated disk for RocksDB's calls too.
///
/// It must outlive its store.
final class RocksDisk: @unchecked Sendable {  // `open` is guarded by `lock`
  let disk: SimulatedDisk
  /// The environment for the store's options: like the daemon's, with these files.
  private(set) var environment = RocksEnvironment(handle: nil)
  private var base: OpaquePointer?
  private let lock = Condition()
  private var open: [Int64: any StoreFile] = [:]
  private var lastHandle: Int64 = 0

  /// Files of RocksDB on that disk.
  init(_ disk: SimulatedDisk) {
    self.disk = disk
    base = csf_environment(calls)
    environment = RocksEnvironment(handle: cre_environment_over(base))
  }

  deinit {
    cre_environment_destroy(environment.handle)
    csf_environment_destroy(base)
  }

  private func file(_ handle: Int64) -> (any StoreFile)? { lock.locked { open[handle] } }

  private func keep(_ file: any StoreFile) -> Int64 {
    lock.locked {
      lastHandle += 1
      open[lastHandle] = file
      return lastHandle
    }
  }

  private func forget(_ handle: Int64) { lock.locked { open[handle] = nil } }

  private static func of(_ context: UnsafeMutableRawPointer?) -> RocksDisk? {
    context.map { Unmanaged<RocksDisk>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func text(_ path: UnsafePointer<CChar>?) -> String {
    var path = path.map { String(cString: $0) } ?? ""
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path.replacing("//", with: "/")
  }

  /// An error's code for RocksDB.
  private static func code(_ error: StoreError) -> Int32 {
    switch error.code {
    case .diskFull: Int32(CSF_NO_SPACE)
    case .refused: Int32(CSF_MISSING)
    default: Int32(CSF_FAILED)
    }
  }

  /// The result of a call, or the code of its error.
  private static func result<Number: SignedInteger>(_ body: () throws(StoreError) -> Number) -> Number {
    do throws(StoreError) { return try body() } catch { return Number(code(error)) }
  }

  /// The functions that RocksDB calls.
  private var calls: csf_files {
    var calls = csf_files()
    calls.context = Unmanaged.passUnretained(self).toOpaque()
    calls.open = { context, path, mode in
      RocksDisk.result { () throws(StoreError) -> Int64 in
        guard let own = RocksDisk.of(context) else { return -1 }
        return own.keep(try own.disk.open(RocksDisk.text(path), [FileMode.read, .create, .update][Int(mode)]))
      }
    }
    calls.close = { context, file in RocksDisk.of(context)?.forget(file) }
    calls.size = { context, file in
      RocksDisk.result { () throws(StoreError) -> Int64 in
        Int64(try RocksDisk.of(context)?.file(file)?.size() ?? -1)
      }
    }
    calls.read = { context, file, offset, buffer, count in
      RocksDisk.result { () throws(StoreError) -> Int64 in
        guard let file = RocksDisk.of(context)?.file(file) else { return -1 }
        let there = max(0, min(count, try file.size() - Int(offset)))
        try file.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: there), at: Int(offset))
        return Int64(there)
      }
    }
    calls.write = { context, file, offset, bytes, count in
      RocksDisk.result { () throws(StoreError) -> Int32 in
        try RocksDisk.of(context)?.file(file)?.write(
          ByteView(start: bytes, count: count), at: Int(offset))
        return 0
      }
    }
    calls.resize = { context, file, size in
      RocksDisk.result { () throws(StoreError) -> Int32 in
        try RocksDisk.of(context)?.file(file)?.resize(to: Int(size))
        return 0
      }
    }
    calls.sync = { context, file in
      RocksDisk.result { () throws(StoreError) -> Int32 in
        try RocksDisk.of(context)?.file(file)?.sync()
        return 0
      }
    }
    calls.rename = { context, path, target in
      RocksDisk.result { () throws(StoreError) -> Int32 in
        try RocksDisk.of(context)?.disk.rename(RocksDisk.text(path), to: RocksDisk.text(target))
        return 0
      }
    }
    calls.link = { context, path, target in
      RocksDisk.result { () throws(StoreError) -> Int32 in
        try RocksDisk.of(context)?.disk.link(RocksDisk.text(path), to: RocksDisk.text(target))
        return 0
      }
    }
    calls.remove = { context, path in
      RocksDisk.result { () throws(StoreError) -> Int32 in
        try RocksDisk.of(context)?.disk.remove(RocksDisk.text(path))
        return 0
      }
    }
    calls.exists = { context, path in RocksDisk.of(context)?.disk.exists(RocksDisk.text(path)) ?? false }
    calls.create_folder = { context, path in
      RocksDisk.result { () throws(StoreError) -> Int32 in
        try RocksDisk.of(context)?.disk.createFolder(RocksDisk.text(path))
        return 0
      }
    }
    calls.sync_folder = { context, path in
      RocksDisk.result { () throws(StoreError) -> Int32 in
        try RocksDisk.of(context)?.disk.syncFolder(RocksDisk.text(path))
        return 0
      }
    }
    calls.list = { context, path, names, found in
      RocksDisk.result { () throws(StoreError) -> Int32 in
        for name in try RocksDisk.of(context)?.disk.names(in: RocksDisk.text(path)) ?? [] { found?(names, name) }
        return 0
      }
    }
    return calls
  }
}
