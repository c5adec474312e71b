// swift-tools-version: 6.2
import PackageDescription

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

// Each target imports only targets above it in this list: the compiler keeps the floors apart.
let package = Package(
  name: "imctl",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "XMPP", targets: ["XMPP", "XMPPFeatures"]),
    .executable(name: "imctl", targets: ["imctl"]),
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
    .target(name: "CICU"),
    .systemLibrary(name: "CResolv"),
    .systemLibrary(name: "CLinux"),

    .target(name: "XMPPXML", dependencies: ["CLibXML2"], swiftSettings: strict),
    .target(name: "XMPPStanza", dependencies: ["XMPPXML", "CICU", "COpenSSL"], swiftSettings: strict),
    .target(
      name: "XMPPTransport",
      dependencies: [
        "COpenSSL", "CResolv", nioCore, nioPosix, nioHTTP1,
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
      name: "XMPPFeatures", dependencies: ["XMPP", "XMPPStanza", "XMPPXML", "XMPPSASL", nioCore],
      swiftSettings: strict),
    .target(name: "AgentProtocol", swiftSettings: strict),
    .target(
      name: "Agent",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "XMPPFeatures", "AgentProtocol",
        "CLinux",
        nioCore, nioPosix, logging, subprocess,
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "imctl",
      dependencies: [
        "Agent", "AgentProtocol", "XMPPFeatures",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      exclude: ["imctl.1"],
      swiftSettings: strict),

    .executableTarget(
      name: "PresenceMonitor",
      dependencies: [
        "XMPP", "XMPPSASL", "XMPPStanza",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Examples/PresenceMonitor", swiftSettings: strict),

    .testTarget(name: "XMPPXMLTests", dependencies: ["XMPPXML"]),
    .testTarget(
      name: "XMPPStanzaTests", dependencies: ["XMPPStanza", "XMPPXML"], resources: [.copy("Vectors")]),
    .testTarget(
      name: "XMPPTransportTests",
      dependencies: ["XMPPTransport", "COpenSSL", "CResolv", nioCore, nioPosix, nioEmbedded]),
    .testTarget(name: "XMPPSASLTests", dependencies: ["XMPPSASL"]),
    .testTarget(
      name: "XMPPTests",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "TestSupport", nioCore, nioPosix,
      ]),
    .testTarget(
      name: "XMPPFeaturesTests",
      dependencies: ["XMPPXML", "XMPPStanza", "XMPPSASL", "XMPP", "XMPPFeatures", "TestSupport"]),
    .testTarget(name: "AgentProtocolTests", dependencies: ["AgentProtocol"]),
    .testTarget(
      name: "AgentTests",
      dependencies: [
        "XMPPXML", "XMPPStanza", "XMPPTransport", "XMPPSASL", "XMPP", "XMPPFeatures", "AgentProtocol",
        "Agent",
        "TestSupport", nioCore, nioPosix, nioEmbedded, logging, .product(name: "GRDB", package: "GRDB.swift"),
      ]),
    .testTarget(name: "imctlTests", dependencies: ["imctl", "TestSupport", "AgentProtocol"]),
    .testTarget(name: "EndToEndTests", dependencies: ["TestSupport", "AgentProtocol"]),

    // Private servers, a scripted server and counterparts, for the tests above.
    .target(
      name: "TestSupport",
      dependencies: [subprocess],
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
