internal import CTLS
import Glibc
package import RuledCore
package import RuledLua

/// Finds obstacles on this host to a daemon's start or to its delivery of effects: files, folders and accounts.
///
/// It opens files for reading only, and makes nothing.
package struct HostReview {
  /// In the order of the configuration's keys.
  package private(set) var problems: [ConfigurationProblem] = []
  /// The problems that do not stop the start.
  package private(set) var notes: [ConfigurationProblem] = []

  /// Reviews a configuration; `sinks` are those that the plugins declare, or nil if a plugin does not load.
  package init(_ configuration: Configuration, sinks: [String]?) {
    reviewSocket(configuration.socket)
    if let path = configuration.storeFolder { reviewStore(path) }
    if case .bucket(let bucket) = configuration.cluster.snapshots { review(bucket) }
    for (key, names) in [("admins", configuration.admins), ("couriers", configuration.couriers)] {
      for name in HostAccounts.unknown(names) {
        let kind = name.hasPrefix("@") ? "group" : "user"
        add([key], "this host has no \(kind) '\(name)'; add it, or remove it from \(key)")
      }
    }
    if configuration.delivery == .courier, configuration.couriers.isEmpty {
      add(
        ["delivery"],
        "no effect is delivered, as nobody may lease them; write the user of ruled-courier into couriers, as in "
          + "couriers = { \"ruled-courier\" }")
    }
    if let path = configuration.http.tokenFile {
      let key = ["http", "token_file"]
      do throws(RegularFile.Refusal) {
        _ = try SecretFile.token(path)
        notes = SecretFile.weaknesses(ofToken: path).map { Self.problem(key, "\(path) \($0)") }
      } catch { add(key, "\(path) \(error)") }
    }
    if ZoneFiles.areMissing {
      problems.append(ConfigurationProblem(path: [], message: "this host has no time zone files; install tzdata"))
    }
    problems += sinks.map { Self.unknownSinks(configuration, known: $0) } ?? []
    for (name, sink) in configuration.sinks.sorted(by: { $0.key < $1.key }) { review(sink, name) }
  }

  private mutating func add(_ path: [String], _ message: String) { problems.append(Self.problem(path, message)) }

  private static func problem(_ path: [String], _ message: String) -> ConfigurationProblem {
    ConfigurationProblem(path: path, message: "\(path.joined(separator: ".")): \(message)")
  }

  /// The files of an object store; the environment of the service is not known here.
  private mutating func review(_ bucket: ObjectBucket) {
    if let path = bucket.credentialsFile {
      do throws(RegularFile.Refusal) { _ = try ObjectCredentials.read(path) } catch {
        add(["cluster", "s3", "credentials_file"], "\(path) \(error)")
      }
    }
    if let path = bucket.authority { reviewCertificates(path, ["cluster", "s3", "authority"], areAuthorities: true) }
  }

  // MARK: Sinks

  private static let maximumCertificateBytes = 4 << 20

  /// The configured sinks that no plugin has; `known` are the plugins' sinks.
  package static func unknownSinks(_ configuration: Configuration, known: [String]) -> [ConfigurationProblem] {
    configuration.sinks.keys.sorted().filter { !known.contains($0) }.map { name in
      let hint = NearestName.hint(
        name, in: known, otherwise: "they have \(Set(known).sorted().joined(separator: ", "))")
      return ConfigurationProblem(path: ["sinks", name], message: "no plugin has a sink '\(name)'\(hint)")
    }
  }

  private mutating func review(_ sink: Configuration.Sink, _ name: String) {
    if let path = sink.secretFile {
      do throws(RegularFile.Refusal) { _ = try SecretFile.secret(path) } catch {
        add(["sinks", name, "secret_file"], "\(path) \(error)")
      }
    }
    if let path = sink.certificateFile { reviewCertificates(path, ["sinks", name, "cert"], areAuthorities: false) }
    if let path = sink.authoritiesFile { reviewCertificates(path, ["sinks", name, "ca"], areAuthorities: true) }
    if let path = sink.file { reviewLines(path, ["sinks", name, "file"]) }
  }

  private mutating func reviewCertificates(_ path: String, _ key: [String], areAuthorities: Bool) {
    do throws(RegularFile.Refusal) {
      _ = try RegularFile.read(path, limit: Self.maximumCertificateBytes)
    } catch { return add(key, "\(path) \(error)") }
    var why = [CChar](repeating: 0, count: 512)
    // A certificate and its key are in one file.
    let (certificate, authority) = areAuthorities ? (nil, path) : (path, nil)
    guard let read = ct_read_identity(certificate, certificate, authority, &why, why.count) else {
      return add(key, String(decoding: why.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    ct_release_identity(read)
  }

  /// The file of a sink, which is made where it does not exist yet.
  private mutating func reviewLines(_ path: String, _ key: [String]) {
    guard let mode = Self.mode(path), mode & S_IFMT != S_IFLNK else {
      return reviewFolder(path.parentFolder, key, of: path)
    }
    guard mode & S_IFMT != S_IFDIR else { return add(key, "\(path) is a folder; name a file") }
    if access(path, R_OK | W_OK) != 0 { add(key, "\(path) can't be written: \(Self.reason)") }
  }

  // MARK: Folders

  private mutating func reviewSocket(_ path: String) {
    var status = stat()
    if lstat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFSOCK else {
        return add(["socket"], "\(path) is \(RegularFile.name(of: status.st_mode)) and no socket; name another path")
      }
      if access(path, W_OK) != 0 {
        add(["socket"], "\(path) can't be replaced: \(Self.reason); remove it, or name another path")
      }
    }
    reviewMadeFolder(path.parentFolder, ["socket"], of: path)
  }

  private mutating func reviewStore(_ path: String) {
    if let mode = Self.mode(path), mode & S_IFMT != S_IFDIR {
      return add(["store"], "\(path) is \(RegularFile.name(of: mode)) and no folder; name another path")
    }
    reviewMadeFolder(path, ["store"], of: path)
    if Self.mode("\(path)/log") != nil { reviewFolder("\(path)/log", ["store"], of: path) }
  }

  /// A folder that the start makes with its parents: the first one that exists must take new files.
  private mutating func reviewMadeFolder(_ folder: String, _ key: [String], of path: String) {
    var folder = folder
    while Self.mode(folder) == nil, folder != folder.parentFolder {
      if Self.isMadeBySystemd(folder) { return }
      folder = folder.parentFolder
    }
    reviewFolder(folder, key, of: path)
  }

  /// A folder that must exist and take new files.
  private mutating func reviewFolder(_ folder: String, _ key: [String], of path: String) {
    guard let mode = Self.mode(folder) else {
      if Self.isMadeBySystemd(folder) { return }
      return add(key, "the folder \(folder) of \(path) does not exist; make it, or name another path")
    }
    guard mode & S_IFMT == S_IFDIR else { return add(key, "\(folder) is no folder; name another path") }
    if access(folder, R_OK | W_OK | X_OK) != 0 {
      add(
        key,
        "the folder \(folder) can't be read and written: \(Self.reason); run this as the daemon's user, or change its owner"
      )
    }
    // A socket takes no space.
    var disk = statvfs()
    guard key != ["socket"], statvfs(folder, &disk) == 0, disk.f_blocks > 0 else { return }
    if (geteuid() == 0 ? disk.f_bfree : disk.f_bavail) == 0 {
      add(key, "no space is left on the disk of the folder \(folder); make room, or name another path")
    }
  }

  /// Whether a folder is one that systemd makes for the service before its start.
  private static func isMadeBySystemd(_ folder: String) -> Bool {
    ["/run", "/var/lib", "/var/log"].contains(folder.parentFolder)
  }

  /// The mode of a file or a folder, or of a link that leads to neither; nil if there is nothing of that name.
  private static func mode(_ path: String) -> UInt32? {
    var status = stat()
    return stat(path, &status) == 0 || lstat(path, &status) == 0 ? status.st_mode : nil
  }

  private static var reason: String { String(cString: strerror(errno)) }
}

package enum HostAccounts {
  package static func user(_ name: String) -> UInt32? { UInt32(name) ?? getpwnam(name)?.pointee.pw_uid }

  package static func group(_ name: String) -> UInt32? { UInt32(name) ?? getgrnam(name)?.pointee.gr_gid }

  /// Which of these users, and groups after `@`, this host does not know.
  package static func unknown(_ names: [String]) -> [String] {
    names.filter { $0.hasPrefix("@") ? group(String($0.dropFirst())) == nil : user($0) == nil }
  }
}
