import Glibc
package import RuledCore
import RuledStore

/// The figures of the process under the names that Prometheus's own libraries give them.
package enum ProcessMetrics {
  /// Writes the figures of a process that was started at a time and writes to `log`.
  package static func write(start: Timestamp, log: any EventLog, to text: MetricsWriter) {
    text.counter(
      "ruled_log_lines_suppressed_total",
      "Lines left out of the log since one like them was written less than a minute before.", log.suppressed)
    text.counter(
      "ruled_log_lines_dropped_total", "Lines of the log that are lost, since they could not be written.", log.dropped)
    var processor = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor)
    text.counter(
      "process_cpu_seconds_total", "Processor time of the process.",
      [([], Double(processor.tv_sec) + Double(processor.tv_nsec) / 1e9)])
    let memory = ProcessMemory.read()
    text.gauge("process_resident_memory_bytes", "Resident memory of the process.", memory.resident)
    text.gauge("process_virtual_memory_bytes", "Address space of the process.", memory.virtual)
    // One of them is the folder itself.
    let files = (try? Folder.names("/proc/self/fd"))?.count ?? 1
    text.gauge("process_open_fds", "Open files of the process.", files - 1)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    text.gauge("process_max_fds", "How many files the process may have open.", Double(limit.rlim_cur))
    text.gauge(
      "process_start_time_seconds", "When the process was started, since 1970.", Double(start.microseconds) / 1e6)
  }
}

package struct ProcessMemory {
  /// Bytes of address space.
  package var virtual = 0
  var resident = 0
  /// Bytes of data and stack.
  package var data = 0

  /// The memory now; zeros where /proc can't be read.
  package static func read() -> ProcessMemory {
    let line = (try? RegularFile.read("/proc/self/statm", limit: 256)) ?? []
    let numbers = line.text.split { $0 == " " || $0 == "\n" }.compactMap { Int($0) }
    guard numbers.count > 5 else { return ProcessMemory() }
    let page = Int(getpagesize())
    return ProcessMemory(virtual: numbers[0] * page, resident: numbers[1] * page, data: numbers[5] * page)
  }
}
