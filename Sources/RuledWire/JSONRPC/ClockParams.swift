package import RuledCore

/// The params of `clock`: the new time of the manual clock.
package enum ClockParams: Sendable, Equatable {
  /// A moment, which may be in the past.
  case set(Timestamp)
  /// The present time and so many microseconds more.
  case advance(microseconds: Int64)

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    switch (reader.has("set"), reader.has("advance")) {
    case (true, false): self = try Self.set(reader)
    case (false, true): self = try Self.advance(reader)
    case (true, true): throw reader.error("advance", "excludes set")
    case (false, false): throw reader.error("set", "or params.advance is required")
    }
  }

  private static func set(_ reader: ParamsReader) throws(RequestError) -> Self {
    guard let text = reader.value("set")?.string, let time = Timestamp(rfc3339: text) else {
      throw reader.error("set", "must be a time in RFC 3339, like \"2025-11-10T12:34:56Z\"")
    }
    return .set(time)
  }

  private static func advance(_ reader: ParamsReader) throws(RequestError) -> Self {
    guard let text = try reader.string("advance"), let duration = DurationText.parse(text, allowsZero: true) else {
      throw reader.error("advance", "must be a duration like \"90s\", \"1h30m\", \"14d\" or \"1w\"")
    }
    return .advance(microseconds: duration)
  }
}
