// swift-tools-version: 6.2
import PackageDescription

/// What the agent and the commands need and the library does not: a program that depends on this package with
/// `traits: []` does not even fetch it.
func application(_ name: String, _ package: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: ["Application"]))
}

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioConcurrencyHelpers: Target.Dependency = .product(
  name: "NIOConcurrencyHelpers", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let logging = application("Logging", "swift-log")
let subprocess = application("Subprocess", "swift-subprocess")
let argumentParser = application("ArgumentParser", "swift-argument-parser")
let grdb = application("GRDB", "GRDB.swift")
let unixSignals = application("UnixSignals", "swift-service-lifecycle")

// SwiftPM suppresses the warnings of dependencies, and the compiler refuses to do that where they are errors.
let isDependency = Context.packageDirectory.contains("/checkouts/")
let strict: [SwiftSetting] = isDependency ? [] : [.treatAllWarnings(as: .error)]

// Each target imports only targets above it in this list: the compiler keeps the floors apart.
let package = Package(
  name: "imctl",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "XMPP", targets: ["XMPP"]),
    .library(name: "XMPPClient", targets: ["XMPPClient"]),
    .library(name: "XMPPFeatures", targets: ["XMPPFeatures"]),
    .library(name: "XMPPSASL", targets: ["XMPPSASL"]),
    .library(name: "XMPPStanza", targets: ["XMPPStanza"]),
    .library(name: "XMPPTransport", targets: ["XMPPTransport"]),
    .library(name: "XMPPXML", targets: ["XMPPXML"]),
    .executable(name: "imctl", targets: ["imctl"]),
    .executable(name: "imctl-agent", targets: ["imctl-agent"]),
  ],
  traits: [
    .default(enabledTraits: ["Application"]),
    .trait(name: "Application", description: "The agent and the commands, beside the library."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    // A target with sources, since the headers of ICU clash with those inside Foundation.
    .target(name: "CICU", exclude: ["subset-data"]),
    .target(name: "CEmptyICUData"),
    .systemLibrary(name: "CResolv"),
    .systemLibrary(name: "CLinux"),

    .target(name: "XMPPXML", dependencies: ["CLibXML2"], swiftSettings: strict),
    .target(name: "XMPPStanza", dependencies: ["XMPPXML", "CICU", "COpenSSL"], swiftSettings: strict),
    .target(
      name: "XMPPTransport",
      dependencies: [
        "COpenSSL", "CResolv", nioCore, nioConcurrencyHelpers, nioPosix, nioHTTP1,
        .product(name: "NIOSOCKS", package: "swift-nio-extras"),
        .product(name: "NIOExtras", package: "swift-nio-extras"),
      ],
      swiftSettings: strict),
    .target(name: "XMPPSASL", dependencies: ["COpenSSL", "CICU"], swiftSettings: strict),
    .target(
      name: "XMPP",
      dependencies: ["XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", nioCore, nioPosix],
      swiftSettings: strict),
    .target(
      name: "XMPPFeatures",
      dependencies: ["XMPP", "XMPPStanza", "XMPPXML", "XMPPSASL", "XMPPTransport", nioCore],
      swiftSettings: strict),
    .target(
      name: "XMPPClient",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPP", "XMPPFeatures", nioCore, nioConcurrencyHelpers,
      ],
      swiftSettings: strict),
    .target(name: "AgentProtocol", swiftSettings: strict),
    .target(name: "UserCommand", dependencies: ["AgentProtocol", subprocess], swiftSettings: strict),
    .target(name: "Terminal", dependencies: ["CLinux"], swiftSettings: strict),
    .target(
      name: "AgentSystem",
      dependencies: [
        "AgentProtocol", "CLinux", nioCore, nioConcurrencyHelpers, nioPosix, logging,
      ],
      swiftSettings: strict),
    .target(
      name: "AgentStore",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "XMPPFeatures", "AgentProtocol",
        "AgentSystem", nioConcurrencyHelpers, nioPosix, logging, grdb,
      ],
      swiftSettings: strict),
    .target(
      name: "AgentLogin",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "XMPPFeatures", "AgentProtocol",
        "UserCommand", "AgentSystem", "AgentStore", nioCore, nioConcurrencyHelpers,
      ],
      swiftSettings: strict),
    .target(
      name: "AgentErrand",
      dependencies: [
        "XMPPStanza", "XMPPSASL", "XMPP", "XMPPFeatures", "AgentProtocol", "AgentSystem", "AgentStore",
        "AgentLogin",
      ],
      swiftSettings: strict),
    .target(
      name: "AgentSession",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "XMPPFeatures", "XMPPClient",
        "AgentProtocol", "UserCommand", "AgentSystem", "AgentStore", "AgentLogin", nioCore,
        nioConcurrencyHelpers, logging, grdb,
      ],
      swiftSettings: strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(
      name: "AgentService",
      dependencies: [
        "XMPPStanza", "XMPPTransport", "XMPPSASL", "AgentProtocol", "AgentSystem", "AgentStore",
        "AgentLogin", "AgentErrand", "AgentSession", nioCore, nioConcurrencyHelpers, nioPosix, logging,
        unixSignals,
      ],
      swiftSettings: strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .executableTarget(
      name: "imctl-agent",
      dependencies: ["AgentService", "AgentSystem", "AgentProtocol", "Terminal", "CEmptyICUData"],
      exclude: ["read-only.ld"], swiftSettings: strict),
    .executableTarget(
      name: "imctl", dependencies: ["AgentProtocol", "UserCommand", "Terminal", argumentParser],
      exclude: ["imctl.1"], swiftSettings: strict),

    .executableTarget(
      name: "EchoBot", dependencies: ["XMPPClient", "XMPP", "XMPPSASL", "XMPPStanza"],
      path: "Examples/EchoBot", swiftSettings: strict),
    .executableTarget(
      name: "PresenceMonitor",
      dependencies: ["XMPP", "XMPPSASL", "XMPPStanza", argumentParser],
      path: "Examples/PresenceMonitor", swiftSettings: strict),

    .testTarget(name: "XMPPXMLTests", dependencies: ["XMPPXML"]),
    .testTarget(
      name: "XMPPStanzaTests", dependencies: ["XMPPStanza", "XMPPXML", "TestSupport"],
      resources: [.copy("Vectors")]),
    .testTarget(
      name: "XMPPTransportTests",
      dependencies: ["XMPPTransport", "TestSupport", "COpenSSL", "CResolv", nioCore, nioPosix, nioEmbedded]),
    .testTarget(name: "XMPPSASLTests", dependencies: ["XMPPSASL", "TestSupport"]),
    .testTarget(
      name: "XMPPTests",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "TestSupport", nioCore, nioPosix,
      ]),
    .testTarget(
      name: "XMPPFeaturesTests",
      dependencies: ["XMPPXML", "XMPPStanza", "XMPPSASL", "XMPP", "XMPPFeatures", "TestSupport", nioCore]),
    .testTarget(
      name: "XMPPClientTests",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "XMPPFeatures", "XMPPClient",
        "TestSupport", nioCore, nioConcurrencyHelpers,
      ]),
    .testTarget(name: "AgentProtocolTests", dependencies: ["AgentProtocol", "TestSupport"]),
    .testTarget(name: "UserCommandTests", dependencies: ["UserCommand", "AgentProtocol", "TestSupport"]),
    .testTarget(name: "TerminalTests", dependencies: ["Terminal", "TestSupport"]),
    .testTarget(
      name: "AgentSystemTests",
      dependencies: [
        "AgentSystem", "AgentProtocol", "TestSupport", nioCore, nioConcurrencyHelpers, nioPosix, nioEmbedded,
        logging,
      ]),
    .testTarget(
      name: "AgentStoreTests",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPSASL", "XMPPFeatures", "AgentProtocol", "AgentSystem", "AgentStore",
        "TestSupport", nioConcurrencyHelpers, logging, grdb,
      ]),
    .testTarget(
      name: "AgentLoginTests",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "XMPPFeatures", "AgentProtocol",
        "UserCommand", "AgentSystem", "AgentStore", "AgentLogin", "TestSupport", nioCore,
      ]),
    .testTarget(
      name: "AgentSessionTests",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "XMPPFeatures", "XMPPClient",
        "AgentProtocol", "AgentSystem", "AgentStore", "AgentLogin", "AgentSession", "AgentService",
        "TestSupport", nioCore, nioConcurrencyHelpers, nioPosix, logging, grdb,
      ]),
    .testTarget(
      name: "AgentServiceTests",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPFeatures", "AgentProtocol", "AgentSystem", "AgentStore",
        "AgentSession", "AgentService", "TestSupport", nioCore, nioConcurrencyHelpers, nioPosix, logging,
        grdb,
      ]),
    .testTarget(name: "imctlTests", dependencies: ["imctl", "TestSupport", "AgentProtocol", "Terminal"]),
    .testTarget(name: "EndToEndTests", dependencies: ["TestSupport", "AgentProtocol"]),

    // Private servers, a scripted server and counterparts, for the tests above.
    .target(
      name: "TestSupport",
      dependencies: ["AgentProtocol", "XMPPXML", "XMPPStanza", nioConcurrencyHelpers, subprocess],
      path: "Tests/TestSupport", swiftSettings: strict),
    .testTarget(name: "TestSupportTests", dependencies: ["TestSupport"]),

    // `swift run -c release ParseXML`: the parser beside a C program.
    .target(name: "ParseXMLInC", dependencies: ["CLibXML2"], path: "Tests/Benchmarks/ParseXMLInC"),
    .executableTarget(
      name: "ParseXML", dependencies: ["XMPPXML", "ParseXMLInC"], path: "Tests/Benchmarks/ParseXML",
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
