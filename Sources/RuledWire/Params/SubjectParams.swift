package import RuledCore

/// What `export` and `forget` take.
package struct SubjectParams: Sendable, Equatable {
  /// The subject.
  package let subject: String

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    subject = String(decoding: try ParamsReader(request).requiredSubject(), as: UTF8.self)
  }
}
