package import RuledCore
import RuledJSON

package struct BacktestParams: Sendable {
  package let rules: RequestRules
  /// The plugins that are taken from these, or nil for all.
  package let plugins: [String]?
  /// When the range begins, or nil with the journal.
  package let since: LogParams.Moment?
  /// When it ends, or nil with the journal.
  package let until: LogParams.Moment?
  /// The beginning of the subjects' names.
  package let subjects: String
  /// The share of the subjects, as in `10%`.
  package let sample: String
  /// The conditions that fail it, as in `changed > 1%`.
  package let failOn: [String]
  /// Whether the report is wanted as a page, too.
  package let html: Bool

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    rules = try reader.rules()
    plugins = try Self.texts("plugins", reader)
    since = try reader.moment("since", form: Self.form)
    until = try reader.moment("until", form: Self.form)
    subjects = try reader.string("subjects") ?? ""
    sample = try reader.string("sample") ?? "100%"
    failOn = try Self.texts("fail_on", reader) ?? []
    html = try reader.boolean("html") ?? false
  }

  private static let form = "a time in RFC 3339, or how long ago, such as \"7d\""

  private static func texts(_ name: StaticString, _ reader: ParamsReader) throws(RequestError) -> [String]? {
    guard let value = reader.value(name) else { return nil }
    let texts = value.children.compactMap(\.text)
    guard value.isKind(.array), texts.count == value.children.count else {
      throw reader.error(name, "must be a list of strings")
    }
    return texts
  }
}
