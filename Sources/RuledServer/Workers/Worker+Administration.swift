import RuledCore
import RuledEngine
import RuledWire

extension Worker {
  /// Whether only the control thread can carry the method out.
  static func isForControl(_ method: Method) -> Bool {
    switch method {
    case .reload, .retry, .drop, .clock: true
    default: false
    }
  }

  /// Leaves a request to the control thread, which answers to the target.
  func hand(toControl request: RequestView, _ target: ReplyTarget) {
    do throws(RequestError) {
      let task: ControlTask
      switch request.method {
      case .reload:
        _ = try EmptyParams(request)
        task = .reload
      case .retry: task = .retry(try ParkedSelection(request))
      case .drop: task = .drop(try ParkedSelection(request))
      default: task = .clock(try ClockParams(request))
      }
      _ = services.control.send(.task(task, id: request.id.map { Array($0) }, target))
    } catch {
      replyBuffer.removeAll()
      if !request.isNotification {
        ReplyWriter.error(error, id: request.id, to: replyBuffer)
        if target.batch == 0 { ReplyWriter.endLine(to: replyBuffer) }
      }
      send(replyBuffer.bytes, to: target)
    }
  }

  /// Carries out what shows or erases.
  func administrate(_ request: RequestView, into bytes: ByteBuffer) throws(RequestError) {
    let context = services.context
    switch request.method {
    case .state:
      let params = try StateParams(request)
      try withBytes(params.subject, params.plugin) { subject, plugin throws(RequestError) in
        try evaluator.administration.state(subject, plugin: plugin, into: bytes)
      }
    case .export:
      let params = try SubjectParams(request)
      try withBytes(params.subject, nil) { subject, _ throws(RequestError) in
        try evaluator.administration.export(subject).write(to: bytes)
      }
    case .forget:
      let params = try SubjectParams(request)
      try withBytes(params.subject, nil) { subject, _ throws(RequestError) in
        try evaluator.administration.forget(subject).write(to: bytes)
      }
    case .subjects:
      let params = try SubjectsParams(request)
      let found = try StoreListing.subjects(context, prefix: params.prefix, after: params.after, limit: params.limit)
      Self.list("subjects", .array(found.subjects.map { .string($0) }), next: found.next).write(to: bytes)
    case .parked:
      let params = try ParkedParams(request)
      let found = try StoreListing.parked(context, plugin: params.plugin, after: params.after, limit: params.limit)
      Self.list("parked", .array(found.parked), next: found.next).write(to: bytes)
    case .counters:
      let params = try CountersParams(request)
      Self.counters(evaluator, params).write(to: bytes)
    case .rules:
      _ = try EmptyParams(request)
      services.status.rules().write(to: bytes)
    case .health:
      _ = try EmptyParams(request)
      services.status.health(services).write(to: bytes)
    default: throw request.unknownMethod
    }
  }

  private func withBytes(
    _ subject: String, _ plugin: String?,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws(RequestError) -> Void
  ) throws(RequestError) {
    let names = ByteBuffer(capacity: subject.utf8.count + 64)
    names.append(contentsOf: subject)
    let length = names.count
    if let plugin { names.append(contentsOf: plugin) }
    let all = names.bytes
    defer { withExtendedLifetime(names) {} }
    try body(
      UnsafeRawBufferPointer(rebasing: all[..<length]),
      plugin == nil ? nil : UnsafeRawBufferPointer(rebasing: all[length...]))
  }

  private static func list(_ name: String, _ items: JSONValue, next: String?) -> JSONValue {
    var object = JSONObject()
    object[name] = items
    if let next { object["next"] = .string(next) }
    return .object(object)
  }

  /// The counters of a prefix whose labels have the wanted values; numbers and booleans compare by their JSON text.
  private static func counters(_ evaluator: Evaluator, _ params: CountersParams) -> JSONValue {
    let chosen = evaluator.counters(prefix: params.prefix).compactMap { counter -> JSONValue? in
      let labels = (try? JSONValue(parsing: counter.key.labels))?.objectValue ?? JSONObject()
      let fits = params.labels.allSatisfy { wanted in
        guard let own = labels[wanted.name] else { return false }
        return (own.stringValue ?? own.text) == wanted.value
      }
      guard fits else { return nil }
      return .object(["name": .string(counter.key.name), "labels": .object(labels), "value": counter.value.json])
    }
    return .array(chosen)
  }
}
