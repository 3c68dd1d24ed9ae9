package import RuledCore
package import RuledJSON

/// A request; everything in it is valid until the parser parses again.
package struct RequestView {
  /// The id's text as sent, or nil for a notification, which is never answered.
  package let id: ByteView?
  package let method: Method
  /// The method's name, decoded.
  package let methodName: ByteView
  /// The `params`, an object or an array, or nil if absent.
  package let params: TapeValue?
  /// The text of `params` as sent; `{}` if absent.
  package let paramsText: ByteView

  /// Whether the request must not be answered.
  package var isNotification: Bool { id == nil }

  package var unknownMethod: RequestError {
    RequestError(.unknownMethod, "There is no method “\(JSONPath.excerpt(methodName))”.")
  }
}
