import CJSON
import RuledCore

extension TapeValue {
  /// A digest of the value's meaning, 64 bits.
  ///
  /// It is the same for members in another order, for members that are null or left out, and for another spelling of strings and numbers:
  /// `1`, `1.0` and `10e-1` are one number. The store holds digests, so they must never change.
  ///
  /// - Complexity: O(n) in the length of the text; nothing is allocated.
  package var digest: UInt64 {
    switch kind {
    case .object: objectDigest
    case .array: arrayDigest
    case .string: string.map { hash64($0, seed: Self.mark(.string)) } ?? 0
    case .integer: Self.digest(of: UInt64(bitPattern: cj_int64(tape, index)), .integer)
    case .unsigned: Self.digest(of: cj_uint64(tape, index), .unsigned)
    case .number: Self.digest(of: cj_double(tape, index))
    case .true, .false, .null: Self.digest(of: 0, kind)
    }
  }

  package static var emptyObjectDigest: UInt64 { digest(of: 0, .object) }

  /// The members' digests are added up, so that their order makes no difference.
  private var objectDigest: UInt64 {
    var sum: UInt64 = 0
    var members = members
    while let member = members.next() {
      if !member.value.isKind(.null) { sum &+= hash64(member.name, seed: member.value.digest) }
    }
    return Self.digest(of: sum, .object)
  }

  private var arrayDigest: UInt64 {
    var digest = Self.mark(.array)
    var next = cj_first(index)
    let end = cj_end(tape, index)
    while next < end {
      digest = Self.digest(of: digest ^ value(at: next).digest, .array)
      next = cj_next(tape, next)
    }
    return digest
  }

  /// The digest of a number, which is that of an integer where it is one.
  private static func digest(of number: Double) -> UInt64 {
    if let integer = Int64(exactly: number) { return digest(of: UInt64(bitPattern: integer), .integer) }
    if let integer = UInt64(exactly: number) { return digest(of: integer, .unsigned) }
    return digest(of: number.bitPattern, .number)
  }

  private static func mark(_ kind: Kind) -> UInt64 { UInt64(kind.rawValue) &* 0x9e37_79b9_7f4a_7c15 }

  /// Mixes the bits of a word with the kind of value that it stands for.
  private static func digest(of word: UInt64, _ kind: Kind) -> UInt64 {
    let product = (word ^ mark(kind)).multipliedFullWidth(by: 0xd6e8_feb8_6659_fd93)
    let mixed = product.high ^ product.low
    return mixed ^ (mixed >> 32) ^ mark(kind)
  }
}
