internal import CCurl
import Glibc
import RuledCore
import RuledStore

/// The objects of a bucket, through the protocol of S3 over libcurl.
///
/// Each request is tried again after errors that may pass. `progress` is called at least each `pollInterval` while a request is under way or waits for
/// its next attempt, with the number of new bytes sent or received; it may throw to stop.
final class ObjectStore {
  private static let attempts = 6
  /// The wait between two attempts, in milliseconds.
  private static let backoff = Backoff(first: 500, longest: 10_000)
  /// The longest wait that a store may ask for, in seconds.
  private static let longestRetryAfter = 30
  /// How often `progress` is called at least, in milliseconds.
  private static let pollInterval = 200
  /// The most bytes that one request may store, by the protocol.
  static let largestObject = 5 << 30

  /// libcurl counts the initializations, and two threads may initialize it at once.
  private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private let bucket: ObjectBucket
  private let credentials: ObjectCredentials
  /// Keeps the connection from one request to the next.
  private let multi: UnsafeMutableRawPointer

  /// The bucket, with the credentials as they are now.
  init(_ bucket: ObjectBucket) throws(StoreError) {
    self.bucket = bucket
    credentials = try Self.credentials(for: bucket)
    guard Self.isInitialized, let multi = curl_multi_init() else {
      throw StoreError(.inputOutput, "libcurl can't be used: there is no memory for it")
    }
    self.multi = multi
  }

  deinit { curl_multi_cleanup(multi) }

  /// The credentials for a bucket; throws where to put missing ones.
  static func credentials(for bucket: ObjectBucket) throws(StoreError) -> ObjectCredentials {
    do throws(RegularFile.Refusal) {
      guard let path = bucket.credentialsFile else { return try ObjectCredentials.environment() }
      return try ObjectCredentials.read(path)
    } catch {
      let place = bucket.credentialsFile.map { "the file \($0) of cluster.s3.credentials_file" } ?? "the environment"
      let hint = bucket.credentialsFile == nil ? "; set cluster.s3.credentials_file" : ""
      throw StoreError(.refused, "there are no credentials for \(bucket.url): \(place) \(error)\(hint)")
    }
  }

  /// The name of an object for messages.
  func url(of name: String) -> String { "s3://\(bucket.name)/\(name)" }

  // MARK: Requests

  func put(_ bytes: [UInt8], as name: String, progress: CopyProgress) throws(StoreError) {
    let digest = bytes.withView { SHA256.hash($0) }.hex
    _ = try send("PUT", name, "can't be written", .bytes(bytes), digest, progress: progress)
  }

  /// Stores the file at `path`, whose SHA-256 is known, under a name.
  func put(
    fileAt path: String, bytes: Int, _ digest: SHA256.Digest, as name: String, progress: CopyProgress
  ) throws(StoreError) {
    guard bytes <= Self.largestObject else {
      throw StoreError(
        .unsupported,
        "the file \(path) has \(bytes) bytes, and an object that is stored at once has at most \(Self.largestObject): keep the snapshots in a folder"
      )
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      throw StoreError(.inputOutput, "the file \(path) can't be opened", underlying: String(cString: strerror(errno)))
    }
    defer { close(descriptor) }
    let body = ObjectRequest.Body.file(descriptor: descriptor, bytes: bytes)
    _ = try send("PUT", name, "can't be written", body, digest.hex, progress: progress)
  }

  /// Gives the bytes of an object to a receiver; false if there is no such object.
  func get(_ name: String, into receiver: FileReceiver, progress: CopyProgress) throws(StoreError) -> Bool {
    !(try send("GET", name, "can't be read", into: receiver, progress: progress).isMissing)
  }

  /// The bytes of a small object; nil if there is no such object.
  func get(_ name: String, progress: CopyProgress) throws(StoreError) -> [UInt8]? {
    let answer = try send("GET", name, "can't be read", progress: progress)
    return answer.isMissing ? nil : answer.body
  }

  func delete(_ name: String, progress: CopyProgress) throws(StoreError) {
    _ = try send("DELETE", name, "can't be removed", progress: progress)
  }

  func names(prefix: String, progress: CopyProgress) throws(StoreError) -> [String] {
    var (names, next): ([String], String?) = ([], nil)
    repeat {
      // In the order of their names, as the signature has them.
      let query = (next.map { [("continuation-token", $0)] } ?? []) + [("list-type", "2"), ("prefix", prefix)]
      let answer = try send("GET", "", "can't be listed", query: query, progress: progress)
      guard let list = answer.list else {
        throw StoreError(
          .inputOutput, "\(bucket.url) can't be listed: is there an object store at \(bucket.endpoint)?",
          underlying: "status \(answer.status) without a list")
      }
      names += list.names
      next = list.next
    } while next != nil
    return names
  }

  // MARK: Attempts

  /// Sends a request until it is carried out; throws once further attempts are in vain, or if `progress` throws.
  private func send(
    _ method: String, _ name: String, _ failure: String, _ body: ObjectRequest.Body = .none,
    _ digest: String = SHA256.hash("").hex, query: [(name: String, value: String)] = [],
    into receiver: FileReceiver? = nil, progress: CopyProgress
  ) throws(StoreError) -> ObjectAnswer {
    let path = name.isEmpty ? bucket.name : "\(bucket.name)/\(name)"
    let pairs = query.map { name, value in
      // Escaped as the signature has it.
      "\(name)=\(PercentText.encode(value) { $0.isLetter || $0.isDigit || "-._~".utf8.contains($0) })"
    }.joined(separator: "&")
    let request = ObjectRequest(
      method: method, url: "\(bucket.endpoint)/\(path)" + (pairs.isEmpty ? "" : "?\(pairs)"), body: body, digest: digest
    )
    let what = name.isEmpty ? bucket.url : url(of: name)
    var (reported, attempt) = (0, 1)
    while true {
      try receiver?.restart()
      // A new attempt reports only the bytes beyond the attempts before it.
      let result = try perform(request, into: receiver) { (count) throws(StoreError) in
        try progress(max(0, count - reported))
        reported = max(reported, count)
      }
      var (advice, reason, wait) = ("it was tried \(Self.attempts) times", "", 0)
      switch result {
      case .answered(let answer):
        if answer.isSuccess || answer.isMissing && method != "PUT" && !name.isEmpty { return answer }
        reason = answer.summary
        if answer.isTemporary {
          wait = min(answer.retryAfter, Self.longestRetryAfter) * 1000
        } else {
          (attempt, advice) = (Self.attempts, answer.advice(for: bucket))
        }
      case .failed(let text, let isFinal):
        reason = text
        if isFinal { (attempt, advice) = (Self.attempts, "check cluster.s3.endpoint and cluster.s3.authority") }
      }
      guard attempt < Self.attempts else {
        throw StoreError(.inputOutput, "\(what) \(failure): \(advice)", underlying: reason)
      }
      try pause(max(wait, Int(Self.backoff.delay(after: attempt))), progress)
      attempt += 1
    }
  }

  private func pause(_ milliseconds: Int, _ progress: CopyProgress) throws(StoreError) {
    var rest = milliseconds
    while rest > 0 {
      try progress(0)
      usleep(UInt32(min(rest, Self.pollInterval)) * 1000)
      rest -= Self.pollInterval
    }
  }

  /// Makes one attempt; `progress` gets the count of bytes sent or received so far.
  private func perform(
    _ request: ObjectRequest, into receiver: FileReceiver?, progress: CopyProgress
  ) throws(StoreError) -> ObjectTransfer.Result {
    guard let transfer = ObjectTransfer(request, to: bucket, credentials, receiver: receiver),
      curl_multi_add_handle(multi, transfer.easy) == CURLM_OK
    else { throw StoreError(.inputOutput, "libcurl does not take a request to \(bucket.endpoint)") }
    defer { curl_multi_remove_handle(multi, transfer.easy) }
    while true {
      var (running, queued): (Int32, Int32) = (0, 0)
      var status = curl_multi_perform(multi, &running)
      if let problem = transfer.problem { throw problem }
      try progress(transfer.count)
      var code = CURLE_OK
      if let message = curl_multi_info_read(multi, &queued), ruled_curl_done(message, &code) != nil {
        return transfer.result(of: code)
      }
      if status == CURLM_OK { status = curl_multi_poll(multi, nil, 0, Int32(Self.pollInterval), nil) }
      guard status == CURLM_OK else { return .failed(String(cString: curl_multi_strerror(status)), isFinal: false) }
    }
  }
}
