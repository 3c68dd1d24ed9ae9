import CPQ
import RuledCore

/// A connection to PostgreSQL by libpq; one thread at a time uses it.
///
/// Each statement is a transaction of its own. An error says whether the server may have committed it: `PostgresError.isDoubtful`.
final class PostgresConnection {
  private let connection: OpaquePointer
  private let encoded = ByteBuffer(capacity: 256)

  /// Loads libpq and connects to `url`, within `seconds` for each of its hosts.
  init(_ url: String, seconds: Int) throws(PostgresError) {
    if let problem = PostgresLibrary.problem { throw PostgresError(.library, problem) }
    guard let connection = pq_connect(url, "ruled", Int32(seconds)) else {
      throw PostgresError(.unreachable, "there is no memory for a connection to the database")
    }
    self.connection = connection
    guard pq_is_open(connection) else {
      throw PostgresError(.unreachable, "the database can't be reached: \(String(cString: pq_message(connection)))")
    }
  }

  deinit { pq_close(connection) }

  /// Whether statements can be sent: false once an answer did not come.
  var isOpen: Bool { pq_is_open(connection) }

  /// Asks the server to stop the statement under way, and waits until it has got the request.
  func cancel() { pq_cancel(connection) }

  /// The warning that came with the last answer, as when the server stops waiting for its standbys; nil without one.
  var warning: String? { pq_warned(connection) ? String(cString: pq_message(connection)) : nil }

  /// Executes `statement`, and waits at most `milliseconds` for the end of its transaction.
  @discardableResult
  func execute(
    _ statement: PostgresStatement, _ values: [PostgresValue] = [], milliseconds: Int
  ) throws(PostgresError) -> PostgresRows {
    let ranges = encode(values)
    var outcome = PQ_UNKNOWN
    encoded.bytes.memory.withMemoryRebound(to: UInt8.self) { memory in
      var parameters: [pq_value] = []
      for (value, range) in zip(values, ranges) {
        if case .bytes(let view) = value, let start = view.baseAddress {
          parameters.append(pq_value(bytes: start, length: view.count))
        } else {
          parameters.append(pq_value(bytes: memory.baseAddress.map { $0 + range.lowerBound }, length: range.count))
        }
      }
      let text = UnsafeRawPointer(statement.text.utf8Start).assumingMemoryBound(to: CChar.self)
      let count = Int32(parameters.count)
      let limit = Int32(clamping: milliseconds)
      if let name = statement.name {
        let kept = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        outcome = pq_execute_kept(connection, kept, text, parameters, count, limit)
      } else {
        outcome = pq_execute(connection, text, parameters, count, limit)
      }
    }
    try check(outcome)
    return PostgresRows(owner: self, connection: connection)
  }

  /// Executes statements without parameters, one after the other.
  func run(script: String, milliseconds: Int) throws(PostgresError) {
    try check(pq_run_script(connection, script, Int32(clamping: milliseconds)))
  }

  /// Appends integers and texts in binary form to `encoded`; returns the range of each.
  ///
  /// A last byte gives an empty text an address.
  private func encode(_ values: [PostgresValue]) -> [Range<Int>] {
    encoded.removeAll()
    let ranges = values.map { value in
      let start = encoded.count
      switch value {
      case .integer(let integer): encoded.append(bigEndian: UInt64(bitPattern: integer))
      case .text(let text): encoded.append(contentsOf: text)
      case .bytes: break
      }
      return start..<encoded.count
    }
    encoded.append(UInt8(0))
    return ranges
  }

  private func check(_ outcome: pq_outcome) throws(PostgresError) {
    let message = String(cString: pq_message(connection))
    if outcome == PQ_REFUSED {
      throw PostgresError(.refused(sqlstate: String(cString: pq_sqlstate(connection))), message)
    }
    if outcome != PQ_ANSWERED { throw PostgresError(.noAnswer, message) }
  }
}

/// libpq, which is loaded when it is first needed.
package enum PostgresLibrary {
  /// Why it can't be loaded, and the remedy; nil once it is.
  package static var problem: String? {
    pq_load().map {
      "libpq is missing, which a store in PostgreSQL needs: install ruled-postgres, or libpq5 (\(String(cString: $0)))"
    }
  }
}
