package import RuledCore

package struct LeaseParams: Sendable, Equatable {
  package let sinks: [String]
  package let limit: Int
  package let seconds: Int
  /// How many seconds the reply may wait for a first effect.
  package let wait: Int

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    if reader.has("sinks") {
      guard !reader.has("sink") else { throw reader.error("sink", "excludes sinks") }
      var known: Set<String> = []
      sinks = (try reader.strings("sinks") ?? []).filter { known.insert($0).inserted }
      guard !sinks.isEmpty else { throw reader.error("sinks", "must not be empty") }
    } else {
      sinks = [try reader.required("sink")]
    }
    limit = try reader.limit()
    seconds = Int(try reader.integer("seconds", in: 1...Limits.leaseSeconds) ?? Limits.leaseDefaultSeconds)
    wait = Int(try reader.integer("wait", in: 0...Limits.leaseWaitSeconds) ?? 0)
  }
}
