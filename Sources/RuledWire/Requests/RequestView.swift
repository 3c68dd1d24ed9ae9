package import RuledCore

/// A request as it stands in the line; everything in it is valid until the parser parses again.
package struct RequestView {
  /// The id's text as sent, or nil for a notification, which is never answered.
  package let id: UnsafeRawBufferPointer?
  /// Which method is called.
  package let method: Method
  /// The method's name, decoded.
  package let methodName: UnsafeRawBufferPointer
  /// The `params`, an object or an array, or nil if absent.
  package let params: TapeValue?
  /// The text of `params` as sent; `{}` if absent.
  package let paramsText: UnsafeRawBufferPointer

  /// Whether the request must not be answered.
  package var isNotification: Bool { id == nil }

  /// The error that answers a method we don't have.
  package var unknownMethod: RequestError {
    RequestError(.unknownMethod, "There is no method “\(JSONPath.excerpt(methodName))”.")
  }
}
