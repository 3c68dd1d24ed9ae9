import Glibc
import RuledEngine
import RuledLua
import TestSupport
import Testing

@testable import RuledCore

@Suite struct HostReviewTests {
  private let folder = TemporaryFolder()

  /// A configuration that a daemon starts with.
  private var configuration: Configuration {
    var configuration = Configuration()
    configuration.socket = folder("ruled.sock")
    configuration.store = .rocksdb(path: folder("store/of/ours"))
    configuration.admins = ["root", "@root", "0", "@4711"]
    return configuration
  }

  private func problems(_ change: (inout Configuration) -> Void) -> [String] {
    var configuration = configuration
    change(&configuration)
    return HostReview(configuration, sinks: ["mail", "client"]).problems.map(\.message)
  }

  @Test func `a readable token and a sink's new file are no problem, and nothing is made`() {
    folder.write("token", "secret\n")
    let found = problems {
      $0.http.tokenFile = folder("token")
      $0.sinks["mail"] = .init(secretFile: folder("token"), file: folder("mail.ndjson"))
    }
    #expect(found.isEmpty, "\(found)")
    #expect(TemporaryFolder.names(folder.path) == ["token"])
  }

  @Test func `a token that is short or readable by all is worth a note, as the daemon starts with it`() {
    func notes(_ token: String, mode: mode_t) -> [String] {
      folder.write("token", token)
      chmod(folder("token"), mode)
      var configuration = configuration
      configuration.http.tokenFile = folder("token")
      let review = HostReview(configuration, sinks: ["mail"])
      #expect(review.problems.isEmpty)
      return review.notes.map(\.message)
    }
    let strong = String(repeating: "5f", count: 16)
    #expect(notes(strong, mode: 0o640).isEmpty)
    let short = notes("1", mode: 0o600)
    #expect(short.count == 1 && short[0].hasPrefix("http.token_file: \(folder("token")) holds"), "\(short)")
    let open = notes(strong, mode: 0o644)
    #expect(open.count == 1 && open[0].contains("chmod o= \(folder("token"))"), "\(open)")
  }

  @Test func `a courier that may lease nothing, or that this host does not know, is found`() {
    let nobody = problems { $0.delivery = .courier }
    #expect(nobody.count == 1 && nobody[0].hasPrefix("delivery: no effect is delivered"), "\(nobody)")
    #expect(problems { ($0.delivery, $0.couriers) = (.courier, ["root"]) }.isEmpty)
    let unknown = problems { ($0.delivery, $0.couriers) = (.courier, ["no-such-courier"]) }
    #expect(unknown == ["couriers: this host has no user 'no-such-courier'; add it, or remove it from couriers"])
  }

  @Test func `a file that is missing, empty or no text is found`() {
    folder.write("empty", "\n")
    folder.write("words", "two words")
    #expect(
      problems { $0.http.tokenFile = folder("none") }[0].hasPrefix("http.token_file: \(folder("none")) can't be read"))
    #expect(problems { $0.http.tokenFile = folder("empty") }[0].contains("holds no token"))
    #expect(problems { $0.http.tokenFile = folder.path }[0].contains("is a folder"))
    for (name, reason) in [("none", "can't be read"), ("empty", "holds no secret"), ("words", "without white space")] {
      let found = problems { $0.sinks["mail"] = .init(url: "https://a/", secretFile: folder(name)) }
      #expect(
        found.count == 1 && found[0].hasPrefix("sinks.mail.secret_file: ") && found[0].contains(reason), "\(found)")
    }
    for key in ["cert", "ca"] {
      let found = problems {
        $0.sinks["mail"] = .init(url: "https://a/")
        if key == "cert" { $0.sinks["mail"]?.certificateFile = folder("none") }
        if key == "ca" { $0.sinks["mail"]?.authoritiesFile = folder("none") }
      }
      #expect(found.count == 1 && found[0].hasPrefix("sinks.mail.\(key): "), "\(found)")
    }
  }

  @Test func `certificates that TLS can't use are found`() throws {
    let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
    try #require(Program.run("\(root)/examples/cluster/make-certificates", [folder("tls"), "a=127.0.0.1"]).code == 0)
    let (certificate, words) = (folder("tls/a/node.pem"), folder("words"))
    folder.write("both", TemporaryFolder.read(certificate) + TemporaryFolder.read(folder("tls/a/node.key")))
    folder.write("words", "no certificate\n")
    func problems(_ certificate: String?, _ authorities: String?) -> [String] {
      self.problems {
        $0.sinks["mail"] = .init(url: "https://a/", certificateFile: certificate, authoritiesFile: authorities)
      }
    }
    #expect(problems(folder("both"), certificate) == [])
    #expect(problems(certificate, nil).first?.hasPrefix("sinks.mail.cert: key \(certificate): ") == true)
    let found = problems(words, words)
    try #require(found.count == 2)
    #expect(found[0].hasPrefix("sinks.mail.cert: certificate \(words): "), "\(found)")
    #expect(found[1].hasPrefix("sinks.mail.ca: authority \(words): "), "\(found)")
  }

  @Test func `a hint at a sink names each known one once`() {
    var configuration = configuration
    configuration.sinks["x"] = .init(log: true)
    let found = HostReview(configuration, sinks: ["mail", "client", "mail"]).problems.map(\.message)
    #expect(found == ["no plugin has a sink 'x'; they have client, mail"])
  }

  @Test func `credentials of an object store that are missing or incomplete are found`() {
    let found = { (file: String, authority: String?) in
      problems {
        $0.cluster.snapshots = .bucket(
          ObjectBucket(
            name: "bucket", prefix: "", endpoint: "https://a", region: "b", credentialsFile: folder(file),
            authority: authority))
      }
    }
    folder.write("aws", "[default]\naws_access_key_id = id\naws_secret_access_key = a/b+c=\n")
    folder.write("half", "AWS_ACCESS_KEY_ID=id\n")
    folder.write("two", folder.read("aws") + folder.read("aws"))
    #expect(found("aws", nil).isEmpty)
    for (name, reason) in [("none", "can't be read"), ("half", "has no aws_secret_access_key"), ("two", "twice")] {
      let problems = found(name, nil)
      #expect(problems.count == 1 && problems[0].hasPrefix("cluster.s3.credentials_file: \(folder(name)) "))
      #expect(problems[0].contains(reason) && !problems[0].contains("a/b"))
    }
    #expect(found("aws", folder("none"))[0].hasPrefix("cluster.s3.authority: "))
  }

  @Test func `folders that are missing, and files in the place of folders, are found`() {
    folder.write("file", "")
    #expect(problems { $0.socket = folder("made/at/start/ruled.sock") }.isEmpty)
    #expect(problems { $0.socket = folder("file/ruled.sock") }[0].contains("\(folder("file")) is no folder"))
    #expect(problems { $0.socket = folder("file") }[0].contains("is a file"))
    #expect(problems { $0.store = .rocksdb(path: folder("file")) }[0].contains("no folder"))
    #expect(problems { $0.store = .rocksdb(path: folder("file/store")) }[0].contains("is no folder"))
    folder.write("store/log", "")
    #expect(problems { $0.store = .rocksdb(path: folder("store")) }[0].contains("\(folder("store"))/log is no folder"))
    symlink(folder("nowhere"), folder("link"))
    #expect(problems { $0.store = .rocksdb(path: folder("link")) }[0].contains("is a link and no folder"))
    #expect(problems { $0.socket = folder("link") }[0].contains("is a link and no socket"))
    #expect(problems { $0.sinks["mail"] = .init(file: folder("link")) }.isEmpty)
    #expect(problems { $0.sinks["mail"] = .init(file: folder.path) }[0].contains("is a folder; name a file"))
    #expect(problems { $0.sinks["mail"] = .init(file: folder("none/x")) }[0].contains("does not exist"))
  }

  @Test func `folders that systemd makes for the service may be missing`() {
    let found = problems {
      $0.socket = "/run/ruled-of-this-test/ruled.sock"
      $0.store = .rocksdb(path: "/var/lib/ruled-of-this-test")
      $0.sinks["mail"] = .init(file: "/var/log/ruled-of-this-test/mail.ndjson")
    }
    #expect(found.isEmpty, "\(found)")
  }

  @Test func `accounts and sinks that do not exist are found`() {
    let found = problems {
      $0.admins = ["root", "no-such-user", "@no-such-group"]
      $0.sinks["mial"] = .init(log: true)
    }
    #expect(
      found.count == 3 && found[0].contains("no user 'no-such-user'") && found[1].contains("no group '@no-such-group'"))
    #expect(found[2] == "no plugin has a sink 'mial'; did you mean 'mail'?")
    var configuration = configuration
    configuration.sinks["mial"] = .init(log: true)
    #expect(HostReview(configuration, sinks: nil).problems.isEmpty)
  }
}
