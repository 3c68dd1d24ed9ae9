import RuledCore
import RuledEngine

extension Worker {
  /// Asks the handler of an effect's plugin.
  func handle(_ effect: [UInt8], plugin: String, sink: String) -> HandlerAnswer {
    guard evaluator.catalog.index(of: plugin) != nil else { return .absent }
    let bytes = ByteBuffer(capacity: effect.count)
    effect.withUnsafeBytes { bytes.append($0) }
    do throws(Failure) {
      guard let answer = try evaluator.handlers.sink(sink, plugin: plugin, effect: bytes.bytes) else { return .none }
      return HandlerAnswer(answer)
    } catch {
      return .failed("\(error.kind)" + (error.file.map { file in " at \(file):\(error.line ?? 0)" } ?? ""))
    }
  }
}
