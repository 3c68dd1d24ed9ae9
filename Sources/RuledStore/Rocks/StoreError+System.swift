import CRocksDB
import Glibc

extension StoreError {
  /// An error of a system call, by its number.
  static func system(_ message: String, _ number: Int32) -> StoreError {
    let code: Code = number == ENOSPC || number == EDQUOT ? .diskFull : .inputOutput
    return StoreError(code, message, underlying: String(cString: strerror(number)))
  }

  /// An error that RocksDB reported as text, such as `IO error: No space left on device: …`.
  static func database(_ message: String, _ text: String) -> StoreError {
    if text.contains("No space left") || text.contains("quota exceeded") {
      return StoreError(.diskFull, "\(message): no space is left on its disk", underlying: text)
    }
    // a file that could not be looked at is called corrupt too
    let isUnreadable = text.contains("IO error") && !text.contains("No such file")
    if text.hasPrefix("Corruption"), !isUnreadable {
      return StoreError(.corrupt, "\(message): its files are damaged, restore a backup", underlying: text)
    }
    if text.hasPrefix("IO error") || isUnreadable { return StoreError(.inputOutput, message, underlying: text) }
    return StoreError(.refused, message, underlying: text)
  }

  /// Calls `body` with a place for RocksDB's error text and throws what it leaves there.
  static func check<Result>(
    _ message: @autoclosure () -> String,
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) throws(StoreError) -> Result {
    var text: UnsafeMutablePointer<CChar>?
    let result = body(&text)
    if let text {
      defer { rocksdb_free(text) }
      throw database(message(), String(cString: text))
    }
    return result
  }
}
