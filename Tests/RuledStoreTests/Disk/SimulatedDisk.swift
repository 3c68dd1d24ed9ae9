import RuledCore
import RuledThreads
import Synchronization
import TestSupport

@testable import RuledStore

/// A file system in memory that records every call, tells what a power cut at any of them may leave, and lets chosen calls fail.
///
/// An open file stays, whatever happens to its name.
final class SimulatedDisk: FileSystem, @unchecked Sendable {  // everything is guarded by `lock`
  struct Call: CustomStringConvertible {
    enum Kind {
      case open, create, rename, link, remove, names, createFolder, syncFolder, size, read, write, sync, resize
    }

    let kind: Kind
    let path: String
    var offset = 0
    var count = 0
    var hasFailed = false

    var description: String {
      let range = count > 0 || offset > 0 ? " \(offset)+\(count)" : ""
      return "\(kind) \(path)\(range)\(hasFailed ? " FAILS" : "")"
    }
  }

  private let lock = Condition()
  private var state: DiskState
  private var random: SeededRandom
  /// The calls, the earliest first.
  private(set) var calls: [Call] = []
  /// The numbers of the calls that shall fail.
  private var faults: Set<Int> = []
  /// Kinds of calls of which the next one shall fail.
  private var faultyKinds: [(Call) -> Bool] = []
  var failures: Int { failureCount.load(ordering: .relaxed) }
  private let failureCount = Atomic(0)
  /// Called before each call with the content of the disk.
  var beforeCall: ((DiskState) -> Void)?

  /// A disk with that content.
  ///
  /// The seed decides what is random.
  init(_ state: DiskState, seed: UInt64) {
    self.state = state
    random = SeededRandom(seed: seed)
  }

  var contents: DiskState { lock.locked { state } }

  /// How many calls were made.
  var callCount: Int { lock.locked { calls.count } }

  /// Makes a future call fail: 0 is the next one.
  func fail(in distance: Int) { lock.locked { _ = faults.insert(calls.count + distance) } }

  /// Makes the next call of that kind fail.
  func failNext(_ isSuch: @escaping (Call) -> Bool) { lock.locked { faultyKinds.append(isSuch) } }

  /// Makes no further call fail.
  func heal() {
    lock.locked {
      faults.removeAll()
      faultyKinds.removeAll()
    }
  }

  /// Records a call; gives whether it shall fail.
  private func begin(_ kind: Call.Kind, _ path: String, _ offset: Int = 0, _ count: Int = 0) -> Bool {
    beforeCall?(state)
    var call = Call(kind: kind, path: path, offset: offset, count: count)
    call.hasFailed = faults.remove(calls.count) != nil
    if !call.hasFailed, let index = faultyKinds.firstIndex(where: { $0(call) }) {
      faultyKinds.remove(at: index)
      call.hasFailed = true
    }
    calls.append(call)
    if call.hasFailed { failureCount.wrappingAdd(1, ordering: .relaxed) }
    return call.hasFailed
  }

  private func make<Result>(
    _ kind: Call.Kind, _ path: String, _ offset: Int = 0, _ count: Int = 0,
    _ body: (_ fails: Bool) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try lock.locked { () throws(StoreError) in
      let fails = begin(kind, path, offset, count)
      let result = try body(fails)
      if fails { throw Self.fault(kind, path, random.next()) }
      return result
    }
  }

  private static func fault(_ kind: Call.Kind, _ path: String, _ number: UInt64) -> StoreError {
    StoreError(number & 1 == 0 ? .inputOutput : .diskFull, "\(kind) of \(path) was made to fail")
  }

  private static func missing(_ path: String) -> StoreError { StoreError(.refused, "there is no \(path)") }

  // MARK: FileSystem

  func open(_ path: String, _ mode: FileMode) throws(StoreError) -> any StoreFile {
    let number = try make(mode == .create ? .create : .open, path) { (fails) throws(StoreError) in
      guard mode == .create else {
        guard let number = state.names[path] else { throw Self.missing(path) }
        return number
      }
      guard state.folders.contains(DiskState.folder(of: path)) else { throw Self.missing(path) }
      return fails && Bool.random(using: &random) ? 0 : state.create(path)
    }
    return SimulatedFile(self, path: path, number: number)
  }

  func rename(_ path: String, to target: String) throws(StoreError) {
    try make(.rename, "\(path) -> \(target)") { (fails) throws(StoreError) in
      guard let number = state.names[path] else { throw Self.missing(path) }
      if !fails { state.change(.rename(path, to: target, number)) }
    }
  }

  /// Gives a file a further name.
  func link(_ path: String, to target: String) throws(StoreError) {
    try make(.link, "\(path) -> \(target)") { (fails) throws(StoreError) in
      guard let number = state.names[path], state.names[target] == nil else { throw Self.missing(path) }
      if !fails { state.change(.link(target, number)) }
    }
  }

  func remove(_ path: String) throws(StoreError) {
    try make(.remove, path) { fails in
      if !fails, state.names[path] != nil { state.change(.unlink(path)) }
    }
  }

  func exists(_ path: String) -> Bool {
    lock.locked { state.names[path] != nil || state.folders.contains(path) }
  }

  func names(in folder: String) throws(StoreError) -> [String] {
    try make(.names, folder) { (_) throws(StoreError) in
      guard state.folders.contains(folder) else { throw Self.missing(folder) }
      let paths = Array(state.names.keys) + state.folders
      return paths.filter { DiskState.folder(of: $0) == folder }.map { String($0.dropFirst(folder.count + 1)) }.sorted()
    }
  }

  func createFolder(_ path: String) throws(StoreError) {
    try make(.createFolder, path) { fails in if !fails { state.folders.insert(path) } }
  }

  func syncFolder(_ path: String) throws(StoreError) {
    try make(.syncFolder, path) { fails in if !fails { state.syncNames(of: path) } }
  }

  // MARK: What an open file asks for

  fileprivate func size(of file: SimulatedFile) throws(StoreError) -> Int {
    try make(.size, file.path) { _ in state.files[file.number]?.cache.count ?? 0 }
  }

  fileprivate func read(_ file: SimulatedFile, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int)
    throws(StoreError)
  {
    try make(.read, file.path, offset, buffer.count) { (_) throws(StoreError) in
      guard let cache = state.files[file.number]?.cache, offset + buffer.count <= cache.count else {
        throw StoreError(.inputOutput, "\(file.path) has fewer bytes")
      }
      cache.withView { bytes in
        buffer.copyMemory(from: bytes.extracting(offset..<(offset + buffer.count)).memory)
      }
    }
  }

  /// A failed write may have written the first part of its bytes.
  fileprivate func write(_ file: SimulatedFile, _ bytes: ByteView, _ offset: Int) throws(StoreError) {
    try make(.write, file.path, offset, bytes.count) { fails in
      let count = fails ? Int.random(in: 0..<max(bytes.count, 1), using: &random) : bytes.count
      state.files[file.number]?.write(bytes.extracting(..<count), at: offset)
    }
  }

  fileprivate func sync(_ file: SimulatedFile) throws(StoreError) {
    try make(.sync, file.path) { fails in
      if fails { state.files[file.number]?.failSync(&random) } else { state.files[file.number]?.sync() }
    }
  }

  fileprivate func resize(_ file: SimulatedFile, to bytes: Int) throws(StoreError) {
    try make(.resize, file.path, 0, bytes) { fails in if !fails { state.files[file.number]?.resize(to: bytes) } }
  }

  fileprivate func grow(_ file: SimulatedFile, to bytes: Int) throws(StoreError) {
    try make(.resize, file.path, 0, bytes) { fails in
      if !fails, bytes > state.files[file.number]?.cache.count ?? 0 { state.files[file.number]?.resize(to: bytes) }
    }
  }
}

/// An open file of a simulated disk.
final class SimulatedFile: StoreFile {
  let path: String
  fileprivate let number: Int
  private let disk: SimulatedDisk

  fileprivate init(_ disk: SimulatedDisk, path: String, number: Int) {
    self.disk = disk
    self.path = path
    self.number = number
  }

  func size() throws(StoreError) -> Int { try disk.size(of: self) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
    try disk.read(self, buffer, offset)
  }

  func write(_ bytes: ByteView, at offset: Int) throws(StoreError) { try disk.write(self, bytes, offset) }

  func sync() throws(StoreError) { try disk.sync(self) }

  func resize(to bytes: Int) throws(StoreError) { try disk.resize(self, to: bytes) }

  func reserve(_ bytes: Int) -> Bool { (try? disk.grow(self, to: bytes)) != nil }

  func beginWriteback(at offset: Int, count: Int) {}
}
