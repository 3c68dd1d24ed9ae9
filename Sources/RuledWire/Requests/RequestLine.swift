package import RuledCore

/// What a line holds.
package enum RequestLine {
  /// One message.
  case single(RequestMessage)
  /// A batch of at least one message, whose answers make one array.
  case batch(RequestBatch)
  /// Nothing that can be read, to be answered with the error and the id `null`.
  case invalid(RequestError)
}
