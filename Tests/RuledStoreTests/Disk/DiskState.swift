import RuledCore
import TestSupport

@testable import RuledStore

/// The content of a disk, and of the cache that a power cut may lose: bytes and names that were not synced.
///
/// It is a value, so that the state at any call can be kept and used.
struct DiskState {
  /// A file, apart from its names.
  struct File {
    /// The bytes that processes see.
    var cache: [UInt8] = []
    /// The bytes on the disk.
    var disk: [UInt8] = []
    /// Its changes since the last sync, the earliest first.
    var unsynced: [Change] = []
    /// Whether a sync failed: the disk and the cache may then differ although nothing is unsynced.
    var hasLost = false
    /// Whether bytes reach the disk before the size that covers them, and stay in the cache after a failed sync, as on ext4 (`data=ordered`).
    var ordersAppends = false
  }

  /// Whether a file is RocksDB's, which relies on the order of appends to its MANIFEST.
  ///
  /// The log's own files must not need that.
  fileprivate static func ordersAppends(_ path: String) -> Bool {
    !path.contains("/log/") && !path.contains("/\(LogManifest.name)")
  }

  /// A change of a file.
  enum Change {
    case write(offset: Int, bytes: [UInt8])
    case resize(Int)
  }

  /// A change of a folder.
  enum NameChange {
    case link(String, Int)
    case unlink(String)
    case rename(String, to: String, Int)

    /// The folder; a rename stays within one folder.
    var folder: String {
      switch self {
      case .link(let path, _), .unlink(let path), .rename(let path, to: _, _): DiskState.folder(of: path)
      }
    }
  }

  var files: [Int: File] = [:]
  /// The names that processes see.
  var names: [String: Int] = [:]
  /// The names on the disk.
  var durableNames: [String: Int] = [:]
  /// The unsynced changes of names, the earliest first.
  var unsyncedNames: [NameChange] = []
  /// The folders; each is durable from its creation on.
  var folders: Set<String> = []
  private var nextFile = 1

  /// The folder of a path.
  static func folder(of path: String) -> String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "." }

  // MARK: What calls do

  /// The number of the file of that name, which is created if it is missing.
  mutating func create(_ path: String) -> Int {
    if let number = names[path] {
      files[number]?.resize(to: 0)
      return number
    }
    let number = nextFile
    nextFile += 1
    files[number] = File(ordersAppends: Self.ordersAppends(path))
    change(.link(path, number))
    return number
  }

  /// Changes a name for processes; it is durable once its folder has been synced.
  mutating func change(_ change: NameChange) {
    Self.apply(change, to: &names)
    unsyncedNames.append(change)
  }

  /// Makes durable which names a folder has.
  mutating func syncNames(of folder: String) {
    for change in unsyncedNames where change.folder == folder { Self.apply(change, to: &durableNames) }
    unsyncedNames.removeAll { $0.folder == folder }
  }

  private static func apply(_ change: NameChange, to names: inout [String: Int], keepsOldName: Bool = false) {
    switch change {
    case .link(let path, let number): names[path] = number
    case .unlink(let path): names[path] = nil
    case .rename(let path, let target, let number):
      if !keepsOldName, names[path] == number { names[path] = nil }
      names[target] = number
    }
  }

  /// Writes everything to the disk: it then has what processes see.
  mutating func flush() {
    durableNames = names
    unsyncedNames.removeAll()
    for number in files.keys {
      files[number]?.hasLost = false
      files[number]?.sync()
    }
  }

  /// Changes the bytes of a file without a call.
  mutating func change(_ number: Int, _ body: (inout [UInt8]) -> Void) {
    guard var file = files[number] else { return }
    body(&file.cache)
    files[number] = file
  }

  /// Moves a folder with its content to another path, as if it had always been there.
  mutating func move(_ folder: String, to target: String) {
    func moved(_ path: String) -> String { path.hasPrefix(folder) ? target + path.dropFirst(folder.count) : path }
    names = Dictionary(uniqueKeysWithValues: names.map { (moved($0.key), $0.value) })
    durableNames = Dictionary(uniqueKeysWithValues: durableNames.map { (moved($0.key), $0.value) })
    folders = Set(folders.map(moved))
    unsyncedNames = unsyncedNames.map { change in
      switch change {
      case .link(let path, let number): .link(moved(path), number)
      case .unlink(let path): .unlink(moved(path))
      case .rename(let path, let other, let number): .rename(moved(path), to: moved(other), number)
      }
    }
  }

  // MARK: What a crash leaves

  /// What a start finds after a kill: everything in the cache.
  func afterKill() -> DiskState {
    var state = self
    let used = Set(names.values).union(durableNames.values).union(unsyncedNames.compactMap(\.file))
    state.files = files.filter { used.contains($0.key) }
    return state
  }

  /// What a start may find after a power cut now: a part of what was not synced.
  ///
  /// Each sector of a file may have any content that it had since the last sync. Any change of a name may be missing. Half the
  /// states keep the order of these changes, as file systems with a journal do.
  func afterPowerCut(_ random: inout SeededRandom) -> DiskState {
    var state = DiskState()
    state.nextFile = nextFile
    state.folders = folders
    state.durableNames = durableNames
    let style = Int.random(in: 0..<8, using: &random)
    let kept = Int.random(in: 0...unsyncedNames.count, using: &random)
    for (index, change) in unsyncedNames.enumerated() {
      let isKept =
        switch style {
        case 0: false
        case 1: true
        case 2...4: index < kept
        case _ where change.isOrdered: index < kept
        default: Bool.random(using: &random)
        }
      if isKept {
        Self.apply(
          change, to: &state.durableNames, keepsOldName: style == 7 && !change.isOrdered && Bool.random(using: &random))
      }
    }
    state.names = state.durableNames
    for number in Set(state.names.values).sorted() {
      guard let file = files[number] else { continue }
      let bytes = file.image(&random)
      state.files[number] = File(cache: bytes, disk: bytes, ordersAppends: file.ordersAppends)
    }
    return state
  }
}

extension DiskState.NameChange {
  /// Whether it is RocksDB's, which relies on an order: a MANIFEST's name comes before the name that makes it current.
  fileprivate var isOrdered: Bool {
    switch self {
    case .link(let path, _), .unlink(let path), .rename(let path, to: _, _): DiskState.ordersAppends(path)
    }
  }

  /// The file that a name was given to.
  fileprivate var file: Int? {
    switch self {
    case .link(_, let number), .rename(_, to: _, let number): number
    case .unlink: nil
    }
  }
}

extension DiskState.File {
  /// The bytes that a disk writes whole or not at all.
  private static let sector = 512

  mutating func write(_ bytes: ByteView, at offset: Int) {
    guard !bytes.isEmpty else { return }
    cache.grow(to: offset + bytes.count)
    cache.copy(bytes, to: offset)
    unsynced.append(.write(offset: offset, bytes: Array(bytes)))
  }

  /// Sets the file's size in the cache.
  mutating func resize(to size: Int) {
    guard size != cache.count else { return }
    cache.resize(to: size)
    unsynced.append(.resize(size))
  }

  /// Writes the unsynced changes to the disk, but not what a failed sync marked as synced.
  mutating func sync() {
    if hasLost {
      disk.resize(to: cache.count)
      for case .write(let offset, let bytes) in unsynced {
        let end = min(offset + bytes.count, cache.count)
        if offset < end { disk.replaceSubrange(offset..<end, with: cache[offset..<end]) }
      }
    } else {
      disk = cache
    }
    unsynced.removeAll()
  }

  /// What may be on the disk now.
  func image(_ random: inout SeededRandom) -> [UInt8] {
    guard !unsynced.isEmpty else { return disk }
    let all = unsynced.count
    let style = Int.random(in: 0..<7, using: &random)
    let common = Int.random(in: 0...all, using: &random)
    /// How many of the changes have reached an offset, decided when it is first asked for.
    func reached(_ random: inout SeededRandom) -> Int {
      switch style {
      case 0: 0
      case 1: all
      case 2: common
      case 3: Bool.random(using: &random) ? 0 : all
      case 4: Int.random(in: 0...all, using: &random)
      case 5: Int.random(in: 0..<8, using: &random) == 0 ? 0 : all
      default: Int.random(in: 0..<8, using: &random) == 0 ? all : 0
      }
    }
    var size = disk.count
    var final = size
    let sizeReached = reached(&random)
    var reachedSectors: [Int: Int] = [:]
    func reached(sector: Int, _ random: inout SeededRandom) -> Int {
      if let known = reachedSectors[sector] { return known }
      let new = reached(&random)
      reachedSectors[sector] = new
      return new
    }
    var image = disk
    for (index, change) in unsynced.enumerated() {
      switch change {
      case .resize(let bytes):
        if bytes < size {
          Self.forEachSector(bytes..<size) { sector, part in
            if index < reached(sector: sector, &random) { image.zero(part) }
          }
        }
        size = bytes
        image.grow(to: size)
      case .write(let offset, let bytes):
        size = max(size, offset + bytes.count)
        image.grow(to: size)
        bytes.withView { bytes in
          Self.forEachSector(offset..<(offset + bytes.count)) { sector, part in
            guard index < reached(sector: sector, &random) else { return }
            let piece = (part.lowerBound - offset)..<(part.upperBound - offset)
            image.copy(bytes.extracting(piece), to: part.lowerBound)
          }
        }
      }
      if index < sizeReached { final = size }
    }
    guard ordersAppends, cache.count > disk.count else {
      image.resize(to: final)
      return image
    }
    let end =
      style == 0 ? disk.count : style == 1 ? cache.count : Int.random(in: disk.count...cache.count, using: &random)
    return Array(image.prefix(disk.count) + cache[disk.count..<end])
  }

  /// Makes a sync fail: the disk has some content of each sector, and the system keeps it as unsynced, marks it as synced, or drops it.
  mutating func failSync(_ random: inout SeededRandom) {
    guard !unsynced.isEmpty else { return }
    disk = image(&random)
    hasLost = true
    var sectors: Set<Int> = []
    for case .write(let offset, let bytes) in unsynced {
      Self.forEachSector(offset..<(offset + bytes.count)) { sector, _ in sectors.insert(sector) }
    }
    unsynced = disk.count == cache.count ? [] : [.resize(cache.count)]
    let style = Int.random(in: 0..<(ordersAppends ? 2 : 4), using: &random)
    for sector in sectors.sorted() {
      let range = sector * Self.sector..<min((sector + 1) * Self.sector, cache.count)
      guard !range.isEmpty else { continue }
      switch style < 3 ? style : Int.random(in: 0..<3, using: &random) {
      case 0: unsynced.append(.write(offset: range.lowerBound, bytes: Array(cache[range])))
      case 1: break
      default: for byte in range { cache[byte] = byte < disk.count ? disk[byte] : 0 }
      }
    }
  }

  private static func forEachSector(_ range: Range<Int>, _ body: (Int, Range<Int>) -> Void) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let next = min((offset / sector + 1) * sector, range.upperBound)
      body(offset / sector, offset..<next)
      offset = next
    }
  }
}

extension [UInt8] {
  fileprivate mutating func grow(to size: Int) {
    if size > count { append(contentsOf: repeatElement(0, count: size - count)) }
  }

  fileprivate mutating func resize(to size: Int) {
    grow(to: size)
    removeLast(count - size)
  }

  fileprivate mutating func copy(_ bytes: ByteView, to offset: Int) {
    withUnsafeMutableBytes { room in
      UnsafeMutableRawBufferPointer(rebasing: room[offset..<(offset + bytes.count)]).copyMemory(from: bytes.memory)
    }
  }

  fileprivate mutating func zero(_ range: Range<Int>) {
    withUnsafeMutableBytes { room in
      _ = UnsafeMutableRawBufferPointer(rebasing: room[range]).initializeMemory(as: UInt8.self, repeating: 0)
    }
  }
}
