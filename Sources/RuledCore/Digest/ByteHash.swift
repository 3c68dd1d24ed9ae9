/// A fast hash of bytes for tables and for sharing subjects out among workers; the same in every process.
///
/// It follows wyhash (final version 4, public domain, by Wang Yi), read in little-endian order. It is no defence against
/// someone who knows the seed.
@inlinable public func hash64(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
  let count = bytes.count
  var seed = seed ^ mixed(seed ^ 0x2d35_8dcc_aa6c_78a5, 0x8bb8_4b93_962e_acc9)
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
    var position = 0
    if count >= 48 {
      var seed1 = seed
      var seed2 = seed
      while count - position >= 48 {
        seed = mixed(word64(bytes, position) ^ 0x8bb8_4b93_962e_acc9, word64(bytes, position + 8) ^ seed)
        seed1 = mixed(word64(bytes, position + 16) ^ 0x4b33_a62e_d433_d4a3, word64(bytes, position + 24) ^ seed1)
        seed2 = mixed(word64(bytes, position + 32) ^ 0x4d5a_2da5_1de1_aa47, word64(bytes, position + 40) ^ seed2)
        position += 48
      }
      seed ^= seed1 ^ seed2
    }
    while count - position > 16 {
      seed = mixed(word64(bytes, position) ^ 0x8bb8_4b93_962e_acc9, word64(bytes, position + 8) ^ seed)
      position += 16
    }
    first = word64(bytes, count - 16)
    second = word64(bytes, count - 8)
  }
  let product = (first ^ 0x8bb8_4b93_962e_acc9).multipliedFullWidth(by: second ^ seed)
  return mixed(product.low ^ 0x2d35_8dcc_aa6c_78a5 ^ UInt64(count), product.high ^ 0x8bb8_4b93_962e_acc9)
}

/// Both halves of the product, folded.
@inlinable
@inline(__always)
func mixed(_ left: UInt64, _ right: UInt64) -> UInt64 {
  let product = left.multipliedFullWidth(by: right)
  return product.high ^ product.low
}

/// The eight bytes at `offset`.
@inlinable
@inline(__always)
func word64(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
  UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
}

/// The four bytes at `offset`.
@inlinable
@inline(__always)
func word32(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
  UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
}
