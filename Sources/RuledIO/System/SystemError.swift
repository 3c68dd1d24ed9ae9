internal import Glibc
package import RuledThreads

/// A failed system call: the error number, the call, and its purpose.
@usableFromInline package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The value of `errno`.
  package let number: Int32
  /// The call's name, as in its manual page.
  package let call: String
  /// The purpose of the call: a path, or a few words.
  let context: String

  package init(_ number: Int32, call: String, context: String) {
    self.number = number
    self.call = call
    self.context = context
  }

  /// The failure that libuv reports as a negative error number.
  init(uv status: Int32, call: String, context: String) { self.init(-status, call: call, context: context) }

  /// One sentence: the purpose of the call, and the system's reason.
  @usableFromInline
  package var description: String { "\(context): \(call): \(Self.text(of: number))" }

  package static func text(of number: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      buffer.initialize(repeating: 0)
      guard let start = buffer.baseAddress, strerror_r(number, start, buffer.count) == 0 else {
        return "error \(number)"
      }
      return String(cString: start)
    }
  }
}

extension Thread {
  /// Starts a thread, as `init` does.
  package static func start(
    name: String, stackBytes: Int = 16 << 20, priority: Thread.Priority = .normal,
    _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) -> Thread {
    do throws(ThreadError) {
      return try Thread(name: name, stackBytes: stackBytes, priority: priority, body)
    } catch { throw SystemError(error.number, call: "pthread_create", context: "thread \(name)") }
  }
}
