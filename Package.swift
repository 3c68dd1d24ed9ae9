// swift-tools-version: 6.2
import PackageDescription

/// Whether release builds check exclusive access to memory too: only for `make test-release` (docs/decisions/08).
let checksExclusivity = Context.environment["RULED_EXCLUSIVITY_CHECKS"] == "1"

/// Whether debug builds optimise C and the modules that tests spend most time in, and keep Swift's checks: `scripts/build`.
let optimisesFoundations = Context.environment["RULED_OPTIMISED_FOUNDATIONS"] == "1"

let strict: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ]
  + (checksExclusivity ? [] : [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))])

/// What C and C++ are compiled with; tests wait for both, so a build for them optimises them.
let flagsOfC = ["-Wall", "-Wextra", "-Werror"] + (optimisesFoundations ? ["-O2"] : [])

/// Debian installs Lua's headers in a folder of their own.
let luaHeaders: [CSetting] = [.unsafeFlags(["-I/usr/include/lua5.4"])]

/// Lua is linked statically, because each call into a shared library goes through a table of addresses.
let luaArchive = ":liblua5.4.a"

/// RE2 is linked statically, because the shared library hides the hooks that stop a search.
let patternArchive = ":libre2.a"

/// utf8proc is linked statically, because a rule may be stopped inside it.
let unicodeArchive = ":libutf8proc.a"

/// The limit on nesting of Lua's parser is replaced by one that names the line (levels.c).
let withOwnLevels: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "--wrap=luaE_incCstack"])]

/// A rule may be stopped inside any C function, but never inside the dynamic loader: all symbols are bound at the start.
let boundAtStart: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"])]

func module(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
  .target(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

/// A module of bytes, texts and keys, which every event and every test goes through.
func foundation(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  let optimised: [SwiftSetting] = [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
  return .target(
    name: name, dependencies: dependencies, swiftSettings: strict + (optimisesFoundations ? optimised : []))
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
  name: "ruled",
  products: [
    .executable(name: "ruled", targets: ["ruled"]),
    .executable(name: "rulectl", targets: ["rulectl"]),
    .executable(name: "ruled-courier", targets: ["ruled-courier"]),
  ],
  targets: [
    .systemLibrary(name: "CLua", providers: [.apt(["liblua5.4-dev"])]),
    .systemLibrary(name: "CRocksDB", pkgConfig: "rocksdb", providers: [.apt(["librocksdb-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CUV", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CDigest", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .target(
      name: "CJSON", cxxSettings: [.unsafeFlags(flagsOfC)],
      linkerSettings: [.linkedLibrary("simdjson")]),
    .target(
      name: "CPattern", cxxSettings: [.unsafeFlags(flagsOfC)],
      linkerSettings: [.linkedLibrary(patternArchive)]),
    .target(
      name: "CLuaBridge", dependencies: ["CLua", "CJSON", "CPattern"],
      cSettings: luaHeaders + [
        .headerSearchPath("."), .define("_GNU_SOURCE"), .unsafeFlags(flagsOfC),
      ],
      linkerSettings: [.linkedLibrary(luaArchive), .linkedLibrary(unicodeArchive)] + withOwnLevels),

    .target(
      name: "CPQ", cSettings: [.define("_GNU_SOURCE"), .unsafeFlags(flagsOfC)]),
    .target(name: "CLinux", cSettings: [.unsafeFlags(flagsOfC)]),
    .target(name: "CRocksEnv", cxxSettings: [.unsafeFlags(flagsOfC + ["-fno-rtti"])]),

    .target(
      name: "CTLS", cSettings: [.define("_GNU_SOURCE"), .unsafeFlags(flagsOfC)]),

    .target(
      name: "CEdit",
      cSettings: [.define("_GNU_SOURCE"), .unsafeFlags(flagsOfC)],
      linkerSettings: [.linkedLibrary("edit")]),

    .target(
      name: "COpenAPI", cSettings: [.unsafeFlags(flagsOfC + ["-Wno-c23-extensions"])]),

    foundation("RuledCore", ["CDigest"]),
    foundation("RuledThreads", ["CLinux"]),
    foundation("RuledJSON", ["RuledCore", "CJSON"]),
    module("RuledIO", ["RuledCore", "RuledJSON", "RuledThreads", "CSystemd", "CUV"]),
    foundation("RuledLua", ["RuledCore", "RuledJSON", "CLuaBridge"]),
    foundation("RuledStore", ["RuledCore", "RuledThreads", "CLinux", "CRocksDB", "CRocksEnv"]),
    module("RuledJournal", ["RuledCore", "RuledJSON", "RuledThreads", "RuledStore", "CLinux", "CZstd"]),
    module("RuledCluster", ["RuledCore", "RuledThreads", "RuledStore", "CCurl", "CPQ"]),
    module("RuledEngine", ["RuledCore", "RuledJSON", "RuledJournal", "RuledLua", "RuledStore", "CLinux", "CTLS"]),
    module(
      "RuledReplay",
      ["RuledCore", "RuledJSON", "RuledThreads", "RuledJournal", "RuledLua", "RuledStore", "RuledEngine"]),
    module("RuledReports", ["RuledCore", "RuledJSON", "RuledJournal", "RuledReplay"]),
    module("RuledPeers", ["RuledCore", "RuledThreads", "RuledIO", "CTLS"]),
    module("RuledWire", ["RuledCore", "RuledJSON", "COpenAPI"]),
    module("RuledDelivery", ["RuledCore", "RuledIO", "RuledJSON", "RuledWire", "CCurl"]),
    module(
      "RuledServing",
      [
        "RuledCore", "RuledJSON", "RuledThreads", "RuledDelivery", "RuledEngine", "RuledIO", "RuledJournal",
        "RuledLua", "RuledReplay", "RuledReports", "RuledStore", "RuledWire", "CLinux",
      ]),
    module(
      "RuledNodes",
      [
        "RuledCore", "RuledJSON", "RuledThreads", "RuledCluster", "RuledEngine", "RuledIO", "RuledJournal", "RuledLua",
        "RuledPeers", "RuledServing", "RuledStore", "RuledWire",
      ]),
    module(
      "RuledDaemon",
      [
        "RuledCore", "RuledThreads", "RuledCluster", "RuledEngine", "RuledIO", "RuledJournal", "RuledLua",
        "RuledNodes", "RuledServing", "RuledStore", "CLinux",
      ]),
    module(
      "RuledTool",
      [
        "RuledCore", "RuledJSON", "RuledThreads", "RuledEngine", "RuledJournal", "RuledLua", "RuledReplay",
        "RuledReports", "RuledStore", "RuledWire", "CEdit", "CLinux",
      ]),
    .executableTarget(
      name: "ruled", dependencies: ["RuledDaemon"], swiftSettings: strict, linkerSettings: boundAtStart),
    .executableTarget(
      name: "ruled-courier", dependencies: ["RuledDelivery", "RuledIO", "RuledLua"], swiftSettings: strict,
      linkerSettings: boundAtStart),
    .executableTarget(
      name: "rulectl", dependencies: ["RuledTool"], swiftSettings: strict, linkerSettings: boundAtStart),

    .target(name: "CAllocations", path: "Tests/CAllocations"),
    .target(
      name: "CSimulatedFiles", path: "Tests/CSimulatedFiles",
      cxxSettings: [.unsafeFlags(flagsOfC + ["-fno-rtti"])]),
    module("TestSupport", ["RuledCore"], path: "Tests/TestSupport"),
    module("IOTestSupport", ["RuledCore", "RuledIO", "RuledThreads", "TestSupport"], path: "Tests/IOTestSupport"),
    module("StoreTestSupport", ["RuledCore", "RuledStore"], path: "Tests/StoreTestSupport"),
    tests("RuledCoreTests", ["RuledCore", "RuledJSON", "TestSupport"]),
    tests("RuledJSONTests", ["RuledJSON", "TestSupport"]),
    tests("RuledIOTests", ["RuledIO", "RuledCore", "RuledThreads", "CUV", "IOTestSupport", "TestSupport"]),
    tests("RuledLuaTests", ["RuledLua", "RuledJSON", "TestSupport"]),
    tests(
      "RuledStoreTests",
      ["RuledStore", "RuledJournal", "RuledThreads", "CSimulatedFiles", "StoreTestSupport", "TestSupport"]),
    tests(
      "RuledEngineTests",
      ["RuledEngine", "RuledJSON", "RuledLua", "RuledStore", "CAllocations", "StoreTestSupport", "TestSupport"]),
    tests("RuledJournalTests", ["RuledJournal", "RuledJSON", "RuledStore", "StoreTestSupport", "TestSupport"]),
    tests(
      "RuledReplayTests",
      [
        "RuledReplay", "RuledCore", "RuledJSON", "RuledJournal", "RuledLua", "RuledStore", "RuledEngine", "TestSupport",
      ]),
    tests("RuledClusterTests", ["RuledCluster", "RuledCore", "RuledStore", "RuledThreads", "TestSupport"]),
    tests("RuledPeersTests", ["RuledPeers", "RuledCore", "RuledIO", "RuledThreads", "TestSupport"]),
    tests("RuledDeliveryTests", ["RuledDelivery", "RuledCore", "RuledIO", "RuledWire", "TestSupport"]),
    tests("RuledWireTests", ["RuledWire", "RuledJSON", "TestSupport"]),
    tests(
      "RuledServingTests",
      [
        "RuledServing", "RuledCore", "RuledDelivery", "RuledIO", "RuledJSON", "RuledThreads", "RuledEngine", "RuledLua",
        "RuledJournal", "RuledStore", "CAllocations", "CLinux", "IOTestSupport", "StoreTestSupport", "TestSupport",
      ]),
    tests("RuledNodesTests", ["RuledNodes", "RuledCore", "RuledWire"]),
    tests("RuledDaemonTests", ["RuledDaemon", "RuledCore", "RuledDelivery", "RuledIO"]),
    tests("RuledToolTests", ["RuledTool", "RuledReports", "RuledThreads", "RuledJSON", "TestSupport"]),
    tests("ArchitectureTests", []),
    tests(
      "EndToEndTests",
      [
        "RuledCore", "RuledJSON", "RuledEngine", "RuledJournal", "RuledLua", "RuledReplay", "RuledStore", "TestSupport",
        "ruled", "rulectl",
      ]),
  ],
  cLanguageStandard: .c11,
  cxxLanguageStandard: .cxx17
)

/// `RULED_TESTS` names the test targets to build where few are needed (scripts/test-release), or none (scripts/build).
if let wanted = Context.environment["RULED_TESTS"]?.split(separator: ",") {
  package.targets.removeAll { target in
    let isSupport = wanted.isEmpty && target.path?.hasPrefix("Tests/") == true
    return isSupport || target.type == .test && !wanted.contains { $0 == target.name }
  }
}
