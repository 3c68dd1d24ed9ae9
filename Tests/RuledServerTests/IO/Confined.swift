/// A place for what belongs to one loop, in a test whose objects are shared.
final class Confined<Value>: @unchecked Sendable {  // touched only in closures that run on the loop's thread
  var value: Value?
}
