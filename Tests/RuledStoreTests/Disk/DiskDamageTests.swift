import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// Checks a start after durable bytes or files were lost.
///
/// One case is known and accepted: damage that takes both the last note of a file (its seal, or the mark after the last sync) and commits of the sync
/// before it looks like commits that were never synced.
@Suite struct DiskDamageTests {
  private static let settings = LogSettings(segmentBytes: 1 << 13)

  private enum Damage {
    case flip(byte: Int, bit: Int)
    case zero(Range<Int>)
    case cut(Int)
    case remove

    func hits(_ offset: Range<Int>) -> Bool {
      switch self {
      case .flip: false
      case .zero(let range): range.overlaps(offset)
      case .cut, .remove: false  // told by the file's length, and by what names it
      }
    }

    static func random(_ bytes: [UInt8], _ random: inout SeededRandom) -> Damage {
      guard !bytes.isEmpty else { return .remove }
      let end = max(1, bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0)
      let offset = Int.random(in: 0..<end, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0..<4: return .flip(byte: offset, bit: Int.random(in: 0..<8, using: &random))
      case 4: return .zero(offset..<min(bytes.count, offset + Int.random(in: 1...64, using: &random)))
      case 5: return .zero(offset / 512 * 512..<min(bytes.count, offset / 512 * 512 + 512))
      case 6: return .cut(offset)
      default: return .remove
      }
    }
  }

  /// The offset of the last note of a log's file; nil when there is none.
  private func lastNote(_ bytes: [UInt8]) -> Range<Int>? {
    bytes.withView { bytes in
      guard let header = LogFrame.FileHeader(bytes) else { return nil }
      var last: Range<Int>?
      var offset = LogFrame.fileHeader
      while let frame = LogFrame.search(bytes, from: offset, number: header.number) {
        if frame.kind != .commit { last = frame.offset..<frame.end }
        offset = frame.end
      }
      return last
    }
  }

  @Test(arguments: UInt64(1)...12)
  func `damage of durable bytes is refused with the file's name, or takes nothing`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed &* 77)
    let world = LogWorld(seed: seed, settings: Self.settings)
    #expect(try world.open() == nil)
    for _ in 0..<Int.random(in: 1...40, using: &random) { #expect(world.step() == nil) }
    world.commit(durable: true)
    var found = world.crash(world.disk.contents, power: false, &random)
    found.disk.flush()
    found.keepsCommitted = false
    let files = found.disk.names.filter { $0.key.hasSuffix(".log") || $0.key.hasSuffix(LogManifest.name) }
    var refused = 0
    for round in 0..<60 {
      guard let (path, number) = files.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else { return }
      let bytes = found.disk.files[number]?.disk ?? []
      let damage = Damage.random(bytes, &random)
      if let note = lastNote(bytes), damage.hits(note) { continue }
      var damaged = found
      switch damage {
      case .flip(let byte, let bit): damaged.disk.change(number) { $0[byte] ^= 1 << UInt8(bit) }
      case .zero(let range): damaged.disk.change(number) { for byte in range { $0[byte] = 0 } }
      case .cut(let offset): damaged.disk.change(number) { $0.removeLast($0.count - offset) }
      case .remove: damaged.disk.names[path] = nil
      }
      damaged.disk.flush()
      let next = LogWorld(damaged, seed: seed &+ UInt64(round), settings: Self.settings)
      do {
        let problem = try next.open()
        #expect(problem == nil, "\(damage) of \(path): \(problem ?? "")\n\(next.report)\n\(world.report)")
      } catch {
        refused += 1
        #expect(error.code == .corrupt, "\(damage) of \(path): \(error)")
        #expect(error.message.contains(path), "\(damage) of \(path): \(error)")
      }
    }
    #expect(refused > 0)
  }
}
