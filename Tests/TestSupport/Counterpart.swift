import FoundationEssentials

/// Another user's client that is not our code: slixmpp, logged in on a test server.
///
/// It accepts every subscription request and asks back, so that it sees the presence of whoever it knows; unless it was told
/// to leave that to ``send(xml:)``.
public final class Counterpart: Sendable {
  /// A presence stanza it received.
  public struct Presence: Decodable, Sendable, Equatable {
    /// Full JID.
    public var from: String
    /// The stanza's type, `available` where it has none.
    public var type: String
    /// `away`, `chat`, `dnd`, `xa` or empty.
    public var show: String
    public var status: String
    public var priority: Int

    public init(from: String, type: String, show: String = "", status: String = "", priority: Int = 0) {
      self.from = from
      self.type = type
      self.show = show
      self.status = status
      self.priority = priority
    }
  }

  /// A message it received.
  public struct Message: Decodable, Sendable, Equatable {
    public var from: String
    public var body: String
    public var id: String
    /// It says that it was sent earlier (XEP-0203).
    public var delayed: Bool
  }

  /// A message without a body.
  public struct Stanza: Decodable, Sendable, Equatable {
    public var from: String
    public var xml: String
  }

  private struct Report: Decodable, Sendable {
    var stanza: Stanza?
    var presence: Presence?
    var message: Message?
    var ready: String?
  }
  private struct Order: Encodable {
    var order: String
    var to = ""
    var text = ""
  }

  private let script: Script
  /// Its full JID.
  public let jid: String

  /// Logs `account` in, checks the server's certificate, and shows it available.
  public convenience init(
    _ account: String = "bob", on server: TestServer, directTLS: Bool = false, accepts: Bool = true
  ) async throws {
    try await self.init(
      jid: server.jid(account), password: server.password(account),
      port: directTLS ? server.directTLSPort : server.port, directTLS: directTLS, caFile: server.caFile,
      accepts: accepts)
  }

  /// The same on any server on loopback.
  ///
  /// - Parameter interests: nodes of its own account and of others that it wants to hear of (XEP-0163 §4).
  public init(
    jid: String, password: String, port: Int, directTLS: Bool = false, caFile: String, accepts: Bool = true,
    interests: [String] = []
  ) async throws {
    struct Options: Encodable {
      var jid: String
      var password: String
      var host: String
      var port: Int
      var directTLS: Bool
      var caFile: String
      var accepts: Bool
      var interests: [String]
    }
    struct Ready: Decodable { var ready: String }
    script = try await Script(
      "counterpart.py",
      options: Options(
        jid: jid, password: password, host: TestServer.host, port: port, directTLS: directTLS, caFile: caFile,
        accepts: accepts, interests: interests))
    self.jid = try await script.first(Ready.self).ready
  }

  /// Every presence stanza from others it has received, oldest first.
  public var presences: [Presence] { script.all(Report.self).compactMap(\.presence) }

  /// Every message with a body it has received, oldest first.
  public var messages: [Message] { script.all(Report.self).compactMap(\.message) }

  /// Every message without one, oldest first.
  public var stanzas: [Stanza] { script.all(Report.self).compactMap(\.stanza) }

  /// Waits for a presence stanza that is not among the first `seen` ones, and matches.
  @discardableResult
  public func presence(
    after seen: Int = 0, within limit: Duration = .seconds(90),
    where matches: @escaping @Sendable (Presence) -> Bool
  ) async throws -> Presence {
    try await script.process.output.first("a presence", within: limit) { _ in
      self.presences.dropFirst(seen).first(where: matches)
    }
  }

  /// Waits for a message that matches.
  @discardableResult
  public func message(
    within limit: Duration = .seconds(90), where matches: @escaping @Sendable (Message) -> Bool
  ) async throws -> Message {
    try await script.process.output.first("a message", within: limit) { _ in
      self.messages.first(where: matches)
    }
  }

  /// Sends a chat message.
  public func send(_ text: String, to jid: String) throws {
    try script.send(Order(order: "message", to: jid, text: text))
  }

  /// Shows another presence; `show` may be empty.
  public func show(_ show: String, status: String = "") throws {
    try script.send(Order(order: "presence", to: show, text: status))
  }

  /// Sends raw XML behind what is already sent.
  public func send(xml: String) throws { try script.send(Order(order: "xml", text: xml)) }

  /// Waits until the server has answered what was asked behind everything sent to the counterpart before:
  /// what has not arrived now will not arrive on account of it.
  public func settled() async throws {
    struct Settled: Decodable { var settled: String }
    let token = "\(Int.random(in: 1...Int.max))"
    try script.send(Order(order: "ping", text: token))
    let script = script
    try await script.process.output.first("an answer to a ping") { _ in
      script.all(Settled.self).contains { $0.settled == token } ? () : nil
    }
  }

  /// Logs out.
  public func end() async throws { try await script.process.stop() }
}
