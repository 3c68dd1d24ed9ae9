import CLinux
import Glibc
import IOTestSupport
import RuledThreads
import Testing

@testable import RuledServing

struct ProcessorTests {
  /// The processors that the kernel lets a new thread use after `cl_take_processor`.
  private func usable(_ which: UInt32, of count: UInt32) throws -> String {
    let told = Signal<String>()
    let thread = try Thread.start(name: "test") {
      cl_take_processor(which, count)
      told.set(Self.usable())
    }
    thread.join()
    return told.wait()
  }

  private static func usable() -> String {
    guard let file = fopen("/proc/thread-self/status", "r") else { return "" }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 4096)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      if text.hasPrefix("Cpus_allowed_list:") { return String(text.drop { !$0.isNumber }.dropLast()) }
    }
    return ""
  }

  @Test func `as many threads as processors get one processor each`() throws {
    let count = cl_processors()
    let own = try (0..<count).map { try usable($0, of: count) }
    #expect(Set(own).count == Int(count) && own.allSatisfy { Int($0) != nil }, "\(own)")
  }

  @Test func `where there are more or fewer the kernel places them`() throws {
    let all = Self.usable()
    #expect(try usable(0, of: cl_processors() + 1) == all && usable(0, of: 0) == all)
  }
}
