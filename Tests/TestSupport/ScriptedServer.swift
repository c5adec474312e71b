import FoundationEssentials

/// A server on loopback that plays a transcript to each client: for what no real server does.
///
/// - Note: `{name}` in what it sends stands for what an attribute `name='{name}'` of an expected element
///   captured: `<iq type='set' id='{id}'>` … `<iq type='result' id='{id}'>`.
public final class ScriptedServer: Sendable {
  /// One step of a transcript.
  public enum Step: Sendable {
    /// `C:` The next element of the client (or its stream header, or `</stream:stream>`) has this name, at
    /// least these attributes and children, and this text where it is not empty. `*` stands for any value.
    case client(String)
    /// `S:` Sends this in one write.
    case server(String)
    /// Sends bytes as they are: invalid UTF-8, NUL, halves of elements.
    case bytes([UInt8])
    /// Sends this one byte at a time, each in its own packet.
    case drip(String)
    /// Sends this again and again until the client closes or this many bytes are sent.
    case flood(String, bytes: Int)
    /// Goes on inside TLS.
    case startTLS
    /// A whole SCRAM exchange up to success, after the client's stream header.
    case scram(SCRAMServer)
    /// Reads nothing and sends nothing any more; the connection stays open.
    case stall
    /// Closes the connection (FIN).
    case close
    /// Aborts the connection (RST).
    case reset
  }

  /// The server's half of SCRAM, honest or not.
  public struct SCRAMServer: Codable, Sendable {
    public enum Variant: String, Codable, Sendable, CaseIterable {
      case honest, wrongSignature, missingSignature, bareSuccess, successBeforeProof
      case foreignNonce, emptyNonce, unchangedNonce, emptySalt, saltNotBase64, mandatoryExtension
      case serverError
    }
    public var variant = Variant.honest
    public var password = "alice-secret"
    /// As written into `i=`.
    public var iterations = "4096"
    public init(_ variant: Variant = .honest) { self.variant = variant }
  }

  public struct Options: Codable, Sendable {
    /// TLS from the first byte.
    public var directTLS = false
    /// One for the test domain by `TestAuthority.shared` when absent.
    public var certificate: TestCertificate?
    public var minimumTLS = "1.2"
    public var maximumTLS = "1.3"
    /// OpenSSL cipher string for TLS 1.2 and lower.
    public var ciphers = "DEFAULT"
    public init() {}
  }

  /// Something that happened on a connection; connections count from 1.
  private struct Report: Decodable, Sendable {
    var connection: Int
    var event: String
    var text: String?
    var tls: Bool?
  }

  public let port: Int
  private let script: Script

  /// Starts a server that plays the same transcript to every client.
  public convenience init(_ steps: [Step], options: Options = Options()) async throws {
    try await self.init(eachConnection: [steps], options: options)
  }

  /// Starts a server that plays the first transcript to the first client, the second to the second, and the
  /// last to all that follow.
  public init(eachConnection scripts: [[Step]], options: Options = Options()) async throws {
    struct Order: Encodable {
      var scripts: [[Step]]
      var options: Options
    }
    struct Ready: Decodable { var port: Int }
    var options = options
    if options.certificate == nil {
      options.certificate = try await TestAuthority.shared.certificate()
    }
    script = try await Script("scripted.py", options: Order(scripts: scripts, options: options))
    port = try await script.first(Ready.self).port
  }

  private var reports: [Report] { script.all(Report.self) }

  /// How many clients have connected.
  public var connections: Int { reports.count { $0.event == "connected" } }

  /// All that clients have sent, as read: what came through TLS is decrypted. One character is one byte.
  public var received: String { reports.filter { $0.event == "received" }.compactMap(\.text).joined() }

  /// What the client of one connection has sent, as `received`.
  public func received(connection: Int) -> String {
    reports.filter { $0.connection == connection && $0.event == "received" }.compactMap(\.text).joined()
  }

  /// All that clients have sent outside of TLS (before and without it).
  public var receivedInTheClear: String {
    reports.filter { $0.event == "received" && $0.tls != true }.compactMap(\.text).joined()
  }

  /// What a client did that was not in the script.
  public var mismatches: [String] { reports.filter { $0.event == "mismatch" }.compactMap(\.text) }

  /// Waits until the script of a connection was played to its end.
  ///
  /// - Throws: `TestSupportError` where the client did something else.
  public func finished(connection: Int = 1) async throws {
    try await event("finished", connection: connection)
  }

  /// Waits until the client has closed a connection.
  public func closedByClient(connection: Int = 1) async throws {
    try await event("closed", connection: connection)
  }

  /// Waits until the client has broken a connection off: nothing that it had sent and that was under way arrives.
  public func resetByClient(connection: Int = 1) async throws {
    try await closedByClient(connection: connection)
    let last = reports.last { $0.connection == connection && $0.event == "closed" }
    guard last?.text?.contains("reset") == true else {
      throw TestSupportError("connection \(connection) was closed: \(last?.text ?? "")")
    }
  }

  /// Stops listening and closes all connections.
  public func end() async throws { try await script.process.stop() }

  private func event(_ event: String, connection: Int) async throws {
    let script = script
    try await script.process.output.first("“\(event)” of connection \(connection)") { _ in
      let reports = script.all(Report.self).filter { $0.connection == connection }
      if reports.contains(where: { $0.event == event }) { return () }
      if let mismatch = reports.first(where: { $0.event == "mismatch" }) {
        throw TestSupportError(mismatch.text ?? "mismatch")
      }
      return nil
    }
  }
}

extension ScriptedServer.Step: Encodable {
  public func encode(to encoder: any Encoder) throws {
    var array = encoder.unkeyedContainer()
    switch self {
    case .client(let text): try encode("client", text)
    case .server(let text): try encode("server", text)
    case .bytes(let bytes): try encode("bytes", bytes)
    case .drip(let text): try encode("drip", text)
    case .flood(let text, let bytes):
      try encode("flood", text)
      try array.encode(bytes)
    case .startTLS: try array.encode("startTLS")
    case .scram(let server): try encode("scram", server)
    case .stall: try array.encode("stall")
    case .close: try array.encode("close")
    case .reset: try array.encode("reset")
    }

    func encode(_ name: String, _ value: some Encodable) throws {
      try array.encode(name)
      try array.encode(value)
    }
  }
}

extension [ScriptedServer.Step] {
  /// Reads a transcript: a step a line, `C: …`, `S: …`, or `-- startTLS`, `-- stall`, `-- close`, `-- reset`.
  /// A line that starts with a space continues the one before it.
  public init(transcript: String) throws {
    self = []
    var lines: [String] = []
    for line in transcript.split(separator: "\n") {
      if line.hasPrefix(" "), let last = lines.popLast() {
        lines.append(last + line.drop { $0 == " " })
      } else {
        lines.append(String(line))
      }
    }
    for line in lines {
      let text = String(line.dropFirst(3))
      switch line.prefix(3) {
      case "C: ": append(.client(text))
      case "S: ": append(.server(text))
      case "-- ":
        switch text {
        case "startTLS": append(.startTLS)
        case "stall": append(.stall)
        case "close": append(.close)
        case "reset": append(.reset)
        default: throw TestSupportError("No such step: \(line)")
        }
      default: throw TestSupportError("A line of a transcript starts with C:, S: or --, not: \(line)")
      }
    }
  }
}
