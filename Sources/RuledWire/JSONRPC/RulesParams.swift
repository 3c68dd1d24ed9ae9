package import RuledCore
import RuledJSON

// The params of the methods on the rules in force.

package enum RequestRules: Sendable {
  /// They are in it, as `RulesSource.encoded` gives them.
  case inline(JSONValue)
  /// They were sent before: the text of the same, under an id that `upload` gave.
  case upload(String)
}

/// A part of rules that a later request names.
package struct UploadParams: Sendable {
  /// The upload that it belongs to; nil for the first part of a new one.
  package let upload: String?
  /// The part, which ends anywhere in the text.
  package let text: [UInt8]

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    upload = reader.has("upload") ? try reader.required("upload") : nil
    text = Array(try reader.required("text").utf8)
  }
}

package struct RolloutStartParams: Sendable {
  package let rules: RequestRules
  /// The share of the subjects, 0 to 100.
  package let percent: Double
  /// When the rollout is aborted by itself, as in `failures > 0.1%`; nil for never.
  package let abortOn: String?

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    rules = try reader.rules()
    percent = try reader.percent()
    abortOn = try reader.string("abort_on")
  }
}

package struct ShadowStartParams: Sendable {
  package let rules: RequestRules
  /// The plugins that are taken from them, nil for all.
  package let plugins: [String]?
  /// The share of the subjects, 0 to 100.
  package let percent: Double

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    rules = try reader.rules()
    plugins = try reader.strings("plugins")
    percent = reader.has("percent") ? try reader.percent() : 100
  }
}

extension ParamsReader {
  /// The rules of a request, whose form is checked later.
  func rules() throws(RequestError) -> RequestRules {
    guard let value = value("rules") else { throw error("rules", "is required") }
    guard value.kind == .object else {
      throw error("rules", "must be an object: {library, plugins: [{name, modules, data}]}, or {upload}")
    }
    if let upload = value.member("upload") {
      guard let id = upload.text else { throw error("rules", "must have a string as 'upload'") }
      return .upload(id)
    }
    return .inline(JSONValue(value))
  }

  func percent() throws(RequestError) -> Double {
    guard let value = value("percent") else { throw error("percent", "is required") }
    guard let number = value.double, (0...100).contains(number) else {
      throw error("percent", "must be a number from 0 to 100")
    }
    return number
  }
}

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
    plugins = try reader.strings("plugins")
    since = try reader.moment("since")
    until = try reader.moment("until")
    subjects = try reader.string("subjects") ?? ""
    sample = try reader.string("sample") ?? "100%"
    failOn = try reader.strings("fail_on") ?? []
    html = try reader.boolean("html") ?? false
  }
}
