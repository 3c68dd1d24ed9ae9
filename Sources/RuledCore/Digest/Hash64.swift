/// A fast hash of bytes under a key that each process draws at random: for tables in memory and for dividing subjects among workers.
///
/// Clients choose the names of subjects, and can't choose names whose hashes collide. Another process gets
/// other hashes: nothing may store them or depend on them.
@_effects(releasenone)
package func hash64(_ bytes: ByteView) -> UInt64 { wyhash(bytes, HashKey.process) }

/// A fast hash of bytes, the same in every process: for stored hashes, for checksums, and for repeatable results.
///
/// A client that chooses the bytes can make hashes collide.
@inlinable package func hash64(_ bytes: ByteView, seed: UInt64) -> UInt64 {
  wyhash(bytes, HashKey(seed: seed))
}

@usableFromInline
struct HashKey: Sendable {
  @usableFromInline let seed: UInt64
  @usableFromInline let secret0: UInt64
  @usableFromInline let secret1: UInt64
  @usableFromInline let secret2: UInt64
  @usableFromInline let secret3: UInt64

  /// The secrets that wyhash publishes, and a seed.
  @inlinable
  @inline(__always)
  init(seed: UInt64) {
    self.seed = seed
    secret0 = 0x2d35_8dcc_aa6c_78a5
    secret1 = 0x8bb8_4b93_962e_acc9
    secret2 = 0x4b33_a62e_d433_d4a3
    secret3 = 0x4d5a_2da5_1de1_aa47
  }

  /// A key of random bits; odd secrets lose none in a product.
  private init(using random: inout some RandomNumberGenerator) {
    seed = random.next()
    secret0 = random.next() | 1
    secret1 = random.next() | 1
    secret2 = random.next() | 1
    secret3 = random.next() | 1
  }

  static let process: HashKey = {
    var random = SystemRandomNumberGenerator()
    return HashKey(using: &random)
  }()
}

/// wyhash (final version 4, public domain, by Wang Yi), which reads in little-endian order.
@inlinable
@inline(__always)
func wyhash(_ bytes: ByteView, _ key: HashKey) -> UInt64 {
  let count = bytes.count
  var seed = key.seed ^ mixed(key.seed ^ key.secret0, key.secret1)
  let first: UInt64
  let second: UInt64
  if count <= 16 {
    if count >= 4 {
      let middle = (count >> 3) << 2
      first = word32(bytes, 0) << 32 | word32(bytes, middle)
      second = word32(bytes, count - 4) << 32 | word32(bytes, count - 4 - middle)
    } else if count > 0 {
      first = UInt64(bytes[0]) << 16 | UInt64(bytes[count >> 1]) << 8 | UInt64(bytes[count - 1])
      second = 0
    } else {
      first = 0
      second = 0
    }
  } else {
    var offset = 0
    if count >= 48 {
      var seed1 = seed
      var seed2 = seed
      while count - offset >= 48 {
        seed = mixed(word64(bytes, offset) ^ key.secret1, word64(bytes, offset + 8) ^ seed)
        seed1 = mixed(word64(bytes, offset + 16) ^ key.secret2, word64(bytes, offset + 24) ^ seed1)
        seed2 = mixed(word64(bytes, offset + 32) ^ key.secret3, word64(bytes, offset + 40) ^ seed2)
        offset += 48
      }
      seed ^= seed1 ^ seed2
    }
    while count - offset > 16 {
      seed = mixed(word64(bytes, offset) ^ key.secret1, word64(bytes, offset + 8) ^ seed)
      offset += 16
    }
    first = word64(bytes, count - 16)
    second = word64(bytes, count - 8)
  }
  let product = (first ^ key.secret1).multipliedFullWidth(by: second ^ seed)
  return mixed(product.low ^ key.secret0 ^ UInt64(count), product.high ^ key.secret1)
}

/// Both halves of the product, folded.
@inlinable
@inline(__always)
func mixed(_ left: UInt64, _ right: UInt64) -> UInt64 {
  let product = left.multipliedFullWidth(by: right)
  return product.high ^ product.low
}

@inlinable
@inline(__always)
func word64(_ bytes: ByteView, _ offset: Int) -> UInt64 {
  UInt64(littleEndian: bytes.load(uncheckedAt: offset, as: UInt64.self))
}

@inlinable
@inline(__always)
func word32(_ bytes: ByteView, _ offset: Int) -> UInt64 {
  UInt64(UInt32(littleEndian: bytes.load(uncheckedAt: offset, as: UInt32.self)))
}
