import TestSupport
import Testing

@testable import XMPP

@Suite("Servers that send bad XML", .timeLimit(.minutes(6)))
struct HostileXMLTests {
  typealias Step = ScriptedServer.Step

  /// What is sent inside an open stream, and what the server must be told; nil where so much is sent that the
  /// connection may end before the server reads why.
  private static let inside: [(name: String, step: Step, condition: String?)] = [
    ("a comment", .server("<!-- x -->"), "restricted-xml"),
    ("a comment in a stanza", .server("<message><body>a<!-- x --></body></message>"), "restricted-xml"),
    ("a processing instruction", .server("<?php x?>"), "restricted-xml"),
    ("an entity in text", .server("<message><body>&lol;</body></message>"), "restricted-xml"),
    ("an entity in an attribute", .server("<message id='&lol;'/>"), "restricted-xml"),
    ("a DTD", .server("<!DOCTYPE a [<!ENTITY b 'c'>]>"), "not-well-formed"),
    ("a second declaration", .server("<?xml version='1.0'?>"), "not-well-formed"),
    (
      "a second header",
      .server("<?xml version='1.0'?><stream:stream xmlns:stream='http://etherx.jabber.org/streams'>"),
      "not-well-formed"
    ),
    (
      "a second header without a declaration",
      .server("<stream:stream xmlns:stream='http://etherx.jabber.org/streams' id='2' version='1.0'>"),
      "bad-format"
    ),
    ("a second header that is empty", .server("<stream:stream/>"), "bad-format"),
    (
      "a second root",
      .server("</stream:stream>\n<stream:stream xmlns:stream='http://etherx.jabber.org/streams'>"),
      "bad-format"
    ),
    ("a second root of another name", .server("</stream:stream><a/>"), "bad-format"),
    ("an undeclared prefix", .server("<evil:message/>"), "bad-namespace-prefix"),
    ("an undeclared prefix of an attribute", .server("<message evil:id='1'/>"), "bad-namespace-prefix"),
    (
      "invalid UTF-8",
      .bytes(Array("<message><body>".utf8) + [0xC3, 0x28] + Array("</body></message>".utf8)),
      "unsupported-encoding"
    ),
    (
      "a surrogate in UTF-8",
      .bytes(Array("<message><body>".utf8) + [0xED, 0xA0, 0x80] + Array("</body></message>".utf8)),
      "not-well-formed"
    ),
    ("NUL", .bytes(Array("<message><body>".utf8) + [0] + Array("</body></message>".utf8)), "not-well-formed"),
    ("NUL as a reference", .server("<message><body>&#0;</body></message>"), "not-well-formed"),
    (
      "a control character", .bytes(Array("<message><body>".utf8) + [0x1B] + Array("</body></message>".utf8)),
      "not-well-formed"
    ),
    ("a wrong end tag", .server("<message></presence>"), "not-well-formed"),
    ("an attribute twice", .server("<message id='1' id='2'/>"), "not-well-formed"),
    ("depth", .server(String(repeating: "<a>", count: 10_000)), nil),
    (
      "attributes", .server("<message \((0..<10_000).map { "a\($0)='1'" }.joined(separator: " "))/>"),
      nil
    ),
    (
      "namespaces", .server("<message \((0..<10_000).map { "xmlns:a\($0)='b'" }.joined(separator: " "))/>"),
      nil
    ),
  ]

  /// What never ends. The connection is closed while much of it is still unread.
  private static let endless: [(name: String, steps: [Step])] = [
    ("text", [.server("<message><body>"), .flood("x", bytes: 1 << 28)]),
    ("a stanza", [.server("<message>"), .flood("<a b='c'>text</a>", bytes: 1 << 28)]),
    ("an attribute", [.server("<message a='"), .flood("x", bytes: 1 << 28)]),
    ("a name", [.server("<"), .flood("x", bytes: 1 << 28)]),
    ("a CDATA section", [.server("<message><![CDATA["), .flood("x", bytes: 1 << 28)]),
    ("nesting", [.flood("<a>", bytes: 1 << 28)]),
    ("a comment", [.server("<!--"), .flood("x", bytes: 1 << 28)]),
  ]

  private static let header =
    "<?xml version='1.0'?><stream:stream id='s' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"

  @Test("Bad XML before TLS ends the login with a protocol error.")
  func beforeTLS() async throws {
    try await Self.inside.map { name, step, _ in
      Attack(name, [.header, .server(Self.header), step], .protocolError, .stream)
    }.run()
  }

  @Test("A stream that begins with a DTD or in another encoding ends the login with a protocol error.")
  func prolog() async throws {
    try await [
      Attack(
        "a DTD",
        [
          .header,
          .server(
            "<?xml version='1.0'?><!DOCTYPE stream:stream [<!ENTITY a '\(String(repeating: "ha", count: 100))'>]>"
              + "<stream:stream id='&a;' version='1.0' xmlns:stream='http://etherx.jabber.org/streams'>"),
        ], .protocolError, .stream),
      Attack(
        "an external DTD", [.header, .server("<!DOCTYPE a SYSTEM 'file:///etc/passwd'>")], .protocolError,
        .stream),
      Attack(
        "UTF-16", [.header, .bytes([0xFE, 0xFF] + "<?xml version='1.0'?>".utf8.flatMap { [0, $0] })],
        .protocolError, .stream),
      Attack(
        "ISO-8859-1", [.header, .server("<?xml version='1.0' encoding='ISO-8859-1'?><stream:stream>")],
        .protocolError, .stream),
      Attack("a comment", [.header, .server("<!-- x -->" + Self.header)], .protocolError, .stream),
      Attack("text", [.header, .server("hello")], .protocolError, .stream),
      Attack("NUL", [.header, .bytes([0, 0, 0, 0, 0])], .protocolError, .stream),
      Attack(
        "an endless header", [.header, .server("<stream:stream "), .flood("a='b' ", bytes: 1 << 28)],
        .protocolError, .stream),
      Attack("endless white space", [.header, .flood(" ", bytes: 1 << 28)], .protocolError, .stream),
    ].run()
  }

  @Test("Bad XML in a bound stream is answered with a stream error and closes the connection.")
  func online() async throws {
    let server = try await ScriptedServer(
      eachConnection: Self.inside.map { .login(until: .bound) + [.server("<presence/>"), $0.step] })
    let login = try await Login(server)
    for (index, (name, _, condition)) in Self.inside.enumerated() {
      let events = try await login.online().eventsToTheEnd()
      guard case .closed(let failure)? = events.last else {
        Issue.record("\(name): not closed")
        continue
      }
      #expect(Failed(failure) == Failed(.protocolError, .stream), "\(name)")
      #expect(
        events.contains { if case .presence = $0 { true } else { false } },
        "\(name): what came before is lost")
      try await server.closedByClient(connection: index + 1)
      guard let condition else { continue }
      let received = server.received(connection: index + 1)
      #expect(received.contains("<stream:error") || received.contains("<error xmlns="), "\(name)")
      #expect(received.contains(condition), "\(name)")
      #expect(received.hasSuffix("</stream:stream>"), "\(name)")
    }
    try await server.end()
  }

  @Test("A stanza without an end closes the connection long before the server has sent everything.")
  func endless() async throws {
    let server = try await ScriptedServer(
      eachConnection: Self.endless.map { .login(until: .bound) + $0.steps })
    let login = try await Login(server)
    for (index, (name, _)) in Self.endless.enumerated() {
      let failure = try await login.online().ending()
      #expect(Failed(failure) == Failed(.protocolError, .stream), "\(name)")
      try await server.closedByClient(connection: index + 1)
    }
    try await server.end()
  }
}
