import CPQ
import RuledCore

/// The rows of an answer, valid until the connection's next statement.
struct PostgresRows {
  /// Kept open while the rows are read.
  let owner: PostgresConnection
  let connection: OpaquePointer

  var count: Int { Int(pq_rows(connection)) }

  /// The number of rows that the statement wrote.
  var written: Int { Int(pq_written(connection)) }

  /// The bytes in a column; nil for a null.
  func bytes(_ row: Int, _ column: Int) -> ByteView? {
    var length = 0
    guard let start = pq_column(connection, Int32(row), Int32(column), &length) else { return nil }
    return ByteView(start: start, count: length)
  }

  func integer(_ row: Int, _ column: Int) -> Int64 {
    guard let bytes = bytes(row, column), bytes.count == 8 else { preconditionFailure("column \(column) is no int8") }
    return Int64(bitPattern: UInt64(bigEndian: bytes.load(at: 0, as: UInt64.self)))
  }

  /// The boolean in a column; false for a null.
  func boolean(_ row: Int, _ column: Int) -> Bool { bytes(row, column)?.first == 1 }

  /// The text in a column; empty for a null.
  func text(_ row: Int, _ column: Int) -> String { bytes(row, column)?.text ?? "" }
}
