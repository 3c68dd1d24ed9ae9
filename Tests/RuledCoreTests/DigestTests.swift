import TestSupport
import Testing

@testable import RuledCore

@Suite struct DigestTests {
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func `SHA-256 agrees with the standard's examples`(text: String, hex: String) {
    #expect(SHA256.hash(text).hex == hex)
  }

  @Test func `A million letters give the standard's digest`() {
    var hash = SHA256()
    for _ in 0..<1_000 { hash.update(String(repeating: "a", count: 1_000)) }
    #expect(hash.finish().hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test func `Pieces of any length give the digest of the whole`() {
    var random = SeededRandom(seed: 5)
    let bytes = (0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }
    for length in 0...bytes.count {
      bytes[..<length].withView { whole in
        var hash = SHA256()
        var rest = whole
        while !rest.isEmpty {
          let count = Int.random(in: 0...rest.count, using: &random)
          hash.update(rest.extracting(..<count))
          rest = rest.extracting(count...)
        }
        #expect(hash.finish() == SHA256.hash(whole))
      }
    }
    #expect(SHA256.hash("abc").bytes.prefix(3) == [0xBA, 0x78, 0x16])
  }

  @Test func `A UUID is written in lower case and carries its version`() {
    #expect(
      UUIDText(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF).text == "00112233-4455-6677-8899-aabbccddeeff")
    #expect(UUIDText.random(.max, .max).text == "ffffffff-ffff-4fff-bfff-ffffffffffff")
    #expect(UUIDText.random(0, 0).text == "00000000-0000-4000-8000-000000000000")
    let derived = "abc".withView { UUIDText.derived(from: $0) }
    #expect(derived.text == "ba7816bf-8f01-8fea-8141-40de5dae2223")
  }

  @Test(
    arguments: [
      ("", 0, 0x9322_8a4d_e0ee_c5a2), ("a", 1, 0xc5ba_c3db_178713c4), ("abc", 2, 0xa97f_2f7b_1d9b_3314),
      ("message digest", 3, 0x786d_1f1d_f3801df4), ("abcdefghijklmnopqrstuvwxyz", 4, 0xdca5_a813_8ad3_7c87),
      ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 5, 0xb9e7_34f1_17cf_af70),
      (
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890", 6, 0x6cc5_eab4_9a92_d617
      ),
    ] as [(String, UInt64, UInt64)])
  func `The byte hash agrees with wyhash's own test vectors`(text: String, seed: UInt64, expected: UInt64) {
    #expect(Array(text.utf8).withView { hash64($0, seed: seed) } == expected)
  }

  @Test func `The byte hash spreads numbered subjects evenly`() {
    var counts = [Int](repeating: 0, count: 64)
    for number in 0..<64_000 {
      counts[Array("user:\(number)".utf8).withView { Int(hash64($0, seed: 0) % 64) }] += 1
    }
    #expect(counts.allSatisfy { (850...1_150).contains($0) })
  }

  @Test func `Names chosen to collide in the hash that is the same everywhere are spread by the one of this process`() {
    let mask: UInt64 = 1023
    let chosen = (0..<100_000).map { Array("user:\($0)".utf8) }.filter { name in
      name.withView { hash64($0, seed: 0) } & mask == 0
    }
    #expect(chosen.count > 50)
    let slots = Dictionary(grouping: chosen) { name in name.withView { hash64($0) } & mask }
    #expect(slots.values.allSatisfy { $0.count < 8 })
    for name in chosen { #expect(name.withView { hash64($0) } == Array(name).withView { hash64($0) }) }
  }

  @Test func `The hash of this process spreads bytes of every length evenly`() {
    for length in [8, 12, 16, 17, 30, 47, 48, 90] {
      var counts = [Int](repeating: 0, count: 16)
      for number in 0..<8_000 {
        var bytes = [UInt8](repeating: 0x61, count: length)
        (bytes[0], bytes[length / 2]) = (UInt8(number & 0xFF), UInt8(number >> 8))
        counts[bytes.withView { Int(hash64($0) % 16) }] += 1
      }
      #expect(counts.allSatisfy { (350...650).contains($0) }, "\(length): \(counts)")
    }
  }

  @Test(arguments: [
    (52.52, 13.405, 48.8566, 2.3522, 877_464.6), (0, 0, 0, 180, 20_015_114.4), (0, 0, 0, 1, 111_195.1),
    (-36.8485, 174.7633, -36.8485, 174.7633, 0), (10, 179.5, 10, -179.5, 109_505.7), (90, 0, -90, 77, 20_015_114.4),
  ])
  func `Distances are those on the sphere`(
    latitude1: Double, longitude1: Double, latitude2: Double, longitude2: Double, metres: Double
  ) {
    let distance = Geo.distance(latitude1, longitude1, latitude2, longitude2)
    #expect(abs(distance - metres) < 1, "\(distance)")
  }
}
