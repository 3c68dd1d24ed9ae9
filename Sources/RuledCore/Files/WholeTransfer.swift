import Glibc

/// Repeats a read or a write of a file until `total` bytes are moved, or none more can be.
///
/// `call` gets the number of bytes moved so far, and returns what the system returned. Gives the number of bytes moved, or nil with the error
/// in `errno`.
package func moveWhole(_ total: Int, _ call: (_ done: Int) -> Int) -> Int? {
  var done = 0
  while done < total {
    let count = call(done)
    if count < 0, errno == EINTR { continue }
    guard count >= 0 else { return nil }
    if count == 0 { break }
    done += count
  }
  return done
}
