import RuledCore
import RuledStore

/// The files of the dashboard's page: HTML, CSS and JavaScript modules in one folder, and Chart.js, which Debian packages.
///
/// They are read for each request, so that an edited file is served at once.
struct DashboardFiles: Sendable {
  private static let maximumBytes = 1 << 20
  /// The path of Chart.js in the package libjs-chart.js.
  private static let packagedChart = "/usr/share/javascript/chart.js/chart.min.js"

  let folder: String?

  /// The files beside the running program: `share/ruled/dashboard` under the prefix that it is installed in, or `dashboard` in the source
  /// tree that it was built in.
  static func besideProgram() -> DashboardFiles {
    DashboardFiles(
      folder: ProgramFolder.find(installed: "share/ruled/dashboard", inSources: "dashboard", with: "index.html"))
  }

  func file(_ name: String) -> HTTPResponse? {
    guard let type = Self.contentType(name), let folder else { return nil }
    var body = try? RegularFile.read("\(folder)/\(name)", limit: Self.maximumBytes)
    if body == nil, name == "chart.js" { body = try? RegularFile.read(Self.packagedChart, limit: Self.maximumBytes) }
    guard let body else { return nil }
    var response = HTTPResponse(200, type: type, body)
    response.headers += Self.protection
    return response
  }

  /// The content type of a file, by the end of its name; nil for a name that no file of the page has.
  private static func contentType(_ name: String) -> String? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty,
      parts[0].utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-") })
    else { return nil }
    switch parts[1] {
    case "html": return "text/html; charset=utf-8"
    case "css": return "text/css; charset=utf-8"
    case "js": return "text/javascript; charset=utf-8"
    case "svg": return "image/svg+xml"
    default: return nil
    }
  }

  /// Headers that keep a browser from running or loading anything but the page's own files, and other pages from showing it in a frame.
  private static let protection: [(name: String, value: String)] = [
    (
      "content-security-policy",
      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"), ("cross-origin-opener-policy", "same-origin"),
  ]
}
