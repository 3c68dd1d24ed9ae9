import RuledCore
import RuledEngine
import RuledJSON
import RuledWire
import Synchronization

/// Rules that clients send in parts before the request that names them, since they may be longer than one request.
///
/// All uploads together have no more bytes than a rules folder may take as JSON. An upload that no request touches for a while is dropped.
final class Uploads: Sendable {
  /// The most bytes of all uploads: a folder's files as JSON, where a character may take two.
  private static let mostBytes = 2 * Limits.folderBytes
  /// How long an untouched upload is kept, in nanoseconds.
  private static let kept: UInt64 = 300_000_000_000

  private struct Upload {
    var parts: [[UInt8]]
    var touched: UInt64
    var byteCount: Int { parts.reduce(0) { $0 + $1.count } }
  }

  private let uploads = Mutex<[String: Upload]>([:])

  /// Adds a part to an upload, or begins one.
  ///
  /// - Returns: `{upload, bytes}`.
  func add(_ params: UploadParams) throws(RequestError) -> JSONValue {
    removeOld()
    let now = EngineClock.monotonic
    return try uploads.withLock { uploads throws(RequestError) in
      let id = params.upload ?? UUIDText.random().text
      guard var upload = uploads[id] ?? (params.upload == nil ? Upload(parts: [], touched: now) : nil) else {
        throw RequestError(.notFound, "there is no upload '\(id)': \(Self.whyGone)")
      }
      guard upload.byteCount + params.text.count <= Self.mostBytes else {
        uploads[id] = nil
        throw RequestError(.tooLarge, "an upload may have \(Self.mostBytes >> 20) MiB; this one is dropped")
      }
      guard uploads.values.reduce(params.text.count, { $0 + $1.byteCount }) <= Self.mostBytes else {
        throw RequestError(
          .overloaded, "other uploads take all memory that there is for them; try again", retryAfter: 1000)
      }
      upload.parts.append(params.text)
      upload.touched = now
      uploads[id] = upload
      return ["upload": .string(id), "bytes": .integer(Int64(upload.byteCount))]
    }
  }

  /// The rules of a request; an upload that it names is taken, and gone then.
  func rules(_ rules: RequestRules) throws(RequestError) -> JSONValue {
    switch rules {
    case .inline(let json): return json
    case .upload(let id):
      guard let upload = uploads.withLock({ $0.removeValue(forKey: id) }) else {
        throw .invalidParams(path: "params.rules.upload", "names no upload '\(id)': \(Self.whyGone)")
      }
      let text = ByteBuffer(capacity: upload.byteCount)
      for part in upload.parts { part.withView { text.append($0) } }
      defer { withExtendedLifetime(text) {} }
      do throws(JSONError) { return try JSONValue(parsing: text.bytes) } catch {
        throw .invalidParams(path: "params.rules.upload", "is no JSON: \(error)")
      }
    }
  }

  /// Drops the uploads that no request has touched for a while.
  func removeOld() {
    let now = EngineClock.monotonic
    uploads.withLock { uploads in uploads = uploads.filter { now - $0.value.touched < Self.kept } }
  }

  private static let whyGone = "it was used, or dropped after 5 minutes; send the rules again"
}
