import AgentProtocol
import FoundationEssentials
import Synchronization
import TestSupport

/// A user with a home, and an account of their own on a private server, so that tests can run side by side.
final class User: Sendable {
  let imctl: IMCTL
  let server: TestServer
  /// Local part of the JID.
  let name: String
  let directTLS: Bool
  /// Where the server is reached, unless on loopback.
  private let network: TestNetwork?

  /// A user of the server that all tests of this target share, or of `server`.
  init(
    on kind: TestServer.Kind = .prosody, server: TestServer? = nil, directTLS: Bool = false,
    environment: [String: String?] = [:], in network: TestNetwork? = nil
  ) async throws {
    self.network = network
    if let server { self.server = server } else { self.server = try await Neighbourhood.server(kind) }
    name = Neighbourhood.nextName(of: kind)
    self.directTLS = directTLS
    let imctl = try await IMCTL(environment: environment)
    // The agent stays where it was started.
    self.imctl = network.map { imctl.started(by: ["/usr/bin/nsenter", "--net=\($0.namespace)"]) } ?? imctl
  }

  /// The user of an account of a server of the test's own.
  init(account: String, on server: TestServer) async throws {
    self.server = server
    name = account
    directTLS = false
    network = nil
    imctl = try await IMCTL()
  }

  /// The same user, with commands that are started otherwise.
  init(_ other: User, imctl: IMCTL) {
    server = other.server
    name = other.name
    directTLS = other.directTLS
    network = other.network
    self.imctl = imctl
  }

  var jid: String { server.jid(name) }
  var password: String { server.password(name) }
  /// What a login needs to find the server.
  var connection: [String] {
    [
      "--host", network?.host ?? TestServer.host,
      "--port", String(network?.port ?? (directTLS ? server.directTLSPort : server.port)),
      "--ca-file", server.caFile,
    ] + (directTLS ? ["--tls", "direct"] : [])
  }

  /// `imctl login JID --password-stdin` with the connection options.
  func login(_ options: String..., password: String? = nil) async throws -> IMCTL.Result {
    try await imctl.run(
      ["login", jid, "--password-stdin"] + connection + options, input: password ?? self.password)
  }

  /// Logs in, and fails where that fails.
  func goOnline(_ options: String...) async throws {
    let result = try await imctl.run(
      ["login", jid, "--password-stdin", "--timeout", "90"] + connection + options, input: password)
    guard result.status == 0 else { throw TestSupportError("login: \(result)") }
  }

  /// The one object of `status --json`.
  func status() async throws -> SessionStatus {
    let result = try await imctl.run("status", "--json", "--account", jid)
    guard let status = try result.objects(SessionStatus.self).first else {
      throw TestSupportError("status: \(result)")
    }
    return status
  }

  /// The same for a test that waits for something: no process is started as long as an agent runs.
  func session() async throws -> SessionStatus? { try await imctl.session(jid) }

  /// Process id of the running agent.
  func agent() async throws -> Int32 {
    struct Answer: Decodable { var pid: Int32? }
    let result = try await imctl.run("agent", "status", "--json")
    guard let pid = try result.objects(Answer.self).first?.pid else {
      throw TestSupportError("agent status: \(result)")
    }
    return pid
  }

  /// Starts `watch --json`; returns when it gets what happens from now on.
  func watch(_ events: String) async throws -> ChildProcess { try await imctl.watch("--events", events) }

  /// Waits until the agent has this many clients, the asking one not counted.
  func clients(_ count: Int) async throws {
    try await eventually("\(count) clients") {
      try await self.imctl.runningAgent()?.clients == count + 1
    }
  }

  /// Waits until no process of this user is left.
  func agentEnded() async throws {
    try await eventually("the end of the agent") { try await self.imctl.processes().isEmpty }
  }

  /// Path of the file that accounts are stored in.
  var accountsPath: String { imctl.home + "/.config/imctl/accounts.json" }

  /// What is stored of the accounts; nothing where the file does not exist.
  func stored() throws -> [StoredAccount] {
    guard FileManager.default.fileExists(atPath: accountsPath) else { return [] }
    struct File: Decodable { var accounts: [StoredAccount] }
    let data = try Data(contentsOf: URL(filePath: accountsPath))
    return try JSONDecoder().decode(File.self, from: data).accounts
  }
}

/// The fields of `accounts.json` that other programs may read.
struct StoredAccount: Decodable, Equatable {
  var account: String
  var password: String?
  var domain: String
  var isLogin: Bool
}

/// An error as `--json` prints it on standard error.
struct ErrorLine: Decodable {
  struct Object: Decodable {
    var name: String
    var code: Int
    var codes: [Int]
    var exit: Int32
    var stage: String
    var message: String
    var hint: String
    var condition: String?
    var retryable: Bool
  }
  var error: Object
}

/// Any JSON value, for whoever only wants the names of fields.
struct Ignored: Decodable {
  init(from decoder: any Decoder) {}
}

extension IMCTL.Result {
  /// The error object on standard error, which is all there is.
  var error: ErrorLine.Object {
    get throws {
      let lines = errors.split(separator: "\n")
      guard lines.count == 1 else { throw TestSupportError("not one line: \(errors)") }
      return try JSONDecoder().decode(ErrorLine.self, from: Data(lines[0].utf8)).error
    }
  }

  /// The states among the events of standard output.
  var states: [SessionState] {
    get throws { try objects(Event.self).lawful().states }
  }
}

extension [Event] {
  /// These events, where each change of state is one of the session's life and goes on from the one before it.
  func lawful() throws -> Self {
    var last: [String: SessionState] = [:]
    for event in self {
      guard case .state(let change) = event.body else { continue }
      let before = last[event.account] ?? change.previous
      guard change.previous == before, SessionLifecycle.event(from: before, to: change.state) != nil else {
        throw TestSupportError("after \(before) came \(change.previous) -> \(change.state)")
      }
      last[event.account] = change.state
    }
    return self
  }

  var states: [SessionState] {
    compactMap { if case .state(let change) = $0.body { change.state } else { nil } }
  }
}

extension ChildProcess {
  /// The events it has written so far.
  func events() throws -> [Event] {
    try output.lines.map { try JSONDecoder().decode(Event.self, from: Data($0.utf8)) }.lawful()
  }

  /// Waits for a state among its events, not counting the first `seen` events.
  @discardableResult
  func state(_ wanted: SessionState, after seen: Int = 0) async throws -> StateChange {
    try await output.first("state \(wanted)") { _ in
      for event in try self.events().dropFirst(seen) {
        if case .state(let change) = event.body, change.state == wanted { return change }
      }
      return nil
    }
  }
}

extension [SessionState] {
  /// What a full login passes.
  static let fullLogin: Self = [.linking, .linkOK, .logining, .loginOK, .syncing, .syncOK]
}

/// One server of each kind, with accounts for every test and a counterpart that sees all of them.
enum Neighbourhood {
  private static let servers = Mutex([TestServer.Kind: Task<TestServer, any Error>]())
  private static let counterparts = Mutex([TestServer.Kind: Task<Counterpart, any Error>]())
  private static let count = Mutex([TestServer.Kind: Int]())

  static func server(_ kind: TestServer.Kind) async throws -> TestServer {
    try await servers.withLock { servers in
      let server = servers[kind] ?? Task { try await make(kind) }
      servers[kind] = server
      return server
    }.value
  }

  /// slixmpp, logged in as bob, who sees everybody's presence.
  static func counterpart(_ kind: TestServer.Kind) async throws -> Counterpart {
    try await counterparts.withLock { counterparts in
      let counterpart = counterparts[kind] ?? Task { try await Counterpart("bob", on: server(kind)) }
      counterparts[kind] = counterpart
      return counterpart
    }.value
  }

  static func nextName(of kind: TestServer.Kind) -> String {
    count.withLock { count in
      count[kind, default: 0] += 1
      return "\(kind)\(count[kind, default: 0])"
    }
  }

  /// Options of a server with all the accounts.
  static func options(_ kind: TestServer.Kind) -> TestServer.Options {
    var options = TestServer.Options(kind)
    let names = ["bob"] + (1...200).map { "\(kind)\($0)" }
    options.accounts = Dictionary(uniqueKeysWithValues: names.map { ($0, "geheim-of-\($0)!") })
    return options
  }

  private static func make(_ kind: TestServer.Kind) async throws -> TestServer {
    try await TestServer(options(kind))
  }
}

extension Counterpart {
  /// What it has seen of a user, oldest first; not the errors of its own stanzas to one who has gone.
  func seen(of user: User) -> [Presence] {
    presences.filter { $0.from.hasPrefix(user.jid + "/") && $0.type != "error" }
  }

  /// Waits for a presence of a user that matches, not counting the first `seen` ones of that user.
  @discardableResult
  func sees(
    _ user: User, after seen: Int = 0, where matches: @escaping @Sendable (Presence) -> Bool
  ) async throws -> Presence {
    let jid = user.jid + "/"
    @Sendable func found() -> Presence? {
      presences.filter { $0.from.hasPrefix(jid) }.dropFirst(seen).first(where: matches)
    }
    try await presence { _ in found() != nil }
    guard let presence = found() else { throw TestSupportError("a presence went away") }
    return presence
  }
}
