import RuledCore

struct ObjectAnswer {
  let status: Int
  /// The wait in seconds that it asks for; 0 if it does not ask.
  let retryAfter: Int
  /// The code of its error, such as `NoSuchBucket`; empty without one.
  let code: String
  let body: [UInt8]
  private let text: String

  init(status: Int, retryAfter: Int = 0, body: [UInt8]) {
    self.status = status
    self.retryAfter = retryAfter
    self.body = body
    text = body.text
    code = status < 300 ? "" : Self.elements("Code", in: text[...]).first ?? ""
  }

  var isSuccess: Bool { status == 200 || status == 204 }
  var isMissing: Bool { status == 404 && code != "NoSuchBucket" }

  /// Whether another attempt may be answered otherwise.
  var isTemporary: Bool {
    [408, 429].contains(status) || status >= 500 && status != 501
      || ["RequestTimeout", "OperationAborted", "SlowDown"].contains(code)
  }

  var summary: String {
    let message = Self.elements("Message", in: text[...]).first ?? ""
    let details = [code, message].filter { !$0.isEmpty }.joined(separator: ": ")
    return details.isEmpty ? "status \(status)" : "status \(status), \(details)"
  }

  func advice(for bucket: ObjectBucket) -> String {
    let place = bucket.credentialsFile ?? "the environment"
    switch code {
    case "NoSuchBucket": return "make the bucket \(bucket.name), or correct cluster.snapshots"
    case "SignatureDoesNotMatch":
      return
        "the secret key in \(place) is not the one of the key's id, or the endpoint has another name than the store knows"
    case "InvalidAccessKeyId", "InvalidClientTokenId": return "the store does not know the key's id in \(place)"
    case "ExpiredToken", "InvalidToken", "TokenRefreshRequired": return "renew the credentials in \(place)"
    case "RequestTimeTooSkewed", "RequestExpired": return "set the clock of this host"
    case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException":
      return "the bucket is in another region: correct cluster.s3.region or cluster.s3.endpoint"
    default: break
    }
    switch status {
    case 301, 302, 307, 308: return "the bucket is elsewhere: correct cluster.s3.endpoint or cluster.s3.region"
    case 401, 403: return "allow the key in \(place) to list the bucket, and to read, write and delete objects in it"
    case 404: return "is there an object store at \(bucket.endpoint)?"
    default: return "correct what the store says"
    }
  }

  /// The names of the objects in a list, and where the next list begins; nil if the answer is no whole list.
  var list: (names: [String], next: String?)? {
    guard text.contains("<ListBucketResult"), text.contains("</ListBucketResult>") else { return nil }
    let isTruncated = Self.elements("IsTruncated", in: text[...]).first == "true"
    let next = Self.elements("NextContinuationToken", in: text[...]).first
    if isTruncated, next == nil { return nil }
    return (Self.elements("Key", in: text[...]), isTruncated ? next : nil)
  }

  /// The texts of the elements of a name, in their order: no such element has others in it.
  private static func elements(_ name: String, in text: Substring) -> [String] {
    var (found, rest): ([String], Substring) = ([], text)
    while let start = rest.firstRange(of: "<\(name)>"), let end = rest[start.upperBound...].firstRange(of: "</\(name)>")
    {
      found.append(unescaped(rest[start.upperBound..<end.lowerBound]))
      rest = rest[end.upperBound...]
    }
    return found
  }

  private static func unescaped(_ text: Substring) -> String {
    guard text.contains("&") else { return String(text) }
    let parts = text.split(separator: "&", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(into: String(parts[0])) { result, part in
      let pieces = part.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
      guard pieces.count == 2, let character = character(pieces[0]) else {
        result += "&\(part)"
        return
      }
      result += "\(character)\(pieces[1])"
    }
  }

  private static func character(_ entity: Substring) -> Character? {
    switch entity {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default:
      guard entity.hasPrefix("#") else { return nil }
      let digits = entity.dropFirst()
      let code = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
      return code.flatMap(UnicodeScalar.init).map(Character.init)
    }
  }
}
