package import RuledCore
import RuledJSON

// What the methods take that concern the rules in force.

/// What `revision` and `rollback` take.
package struct RevisionParams: Sendable, Equatable {
  /// The revision, nil for the one that was in force before.
  package let revision: String?

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    revision = reader.has("revision") ? try reader.required("revision") : nil
  }
}

package struct ReloadParams: Sendable, Equatable {
  /// The node of the cluster whose folder is loaded; nil for the one where the client connected.
  package let node: String?

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    node = try ParamsReader(request).string("node")
  }
}

package struct RolloutStartParams: Sendable {
  /// The rules to try, as `RulesSource.encoded` gives them.
  package let rules: JSONValue
  /// The share of the subjects, 0 to 100.
  package let percent: Double
  /// When the rollout is aborted by itself, as in `failures > 0.1%`; nil for never.
  package let abortOn: String?

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    rules = try reader.rules()
    percent = try reader.percent()
    abortOn = try reader.string("abort_on")
  }
}

package struct ShadowStartParams: Sendable {
  /// The rules to try, as `RulesSource.encoded` gives them.
  package let rules: JSONValue
  /// The plugins that are taken from them, nil for all.
  package let plugins: [String]?
  /// The share of the subjects, 0 to 100.
  package let percent: Double

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    rules = try reader.rules()
    plugins = try reader.strings("plugins")
    percent = reader.has("percent") ? try reader.percent() : 100
  }
}

package struct PercentParams: Sendable, Equatable {
  /// The share of the subjects, 0 to 100.
  package let percent: Double

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) { percent = try ParamsReader(request).percent() }
}

extension ParamsReader {
  /// The rules of a request, whose form is checked later.
  fileprivate func rules() throws(RequestError) -> JSONValue {
    guard let value = value("rules") else { throw error("rules", "is required") }
    guard value.kind == .object else { throw error("rules", "must be an object") }
    return JSONValue(value)
  }

  /// A required share in percent.
  fileprivate func percent() throws(RequestError) -> Double {
    guard let value = value("percent") else { throw error("percent", "is required") }
    guard let number = value.double, (0...100).contains(number) else {
      throw error("percent", "must be a number from 0 to 100")
    }
    return number
  }
}
