import AgentProtocol
import Logging
import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import XMPPStanza

@testable import AgentLogin
@testable import AgentService
@testable import AgentSession
@testable import AgentStore

/// A clock whose pauses are noted and take no time.
final class QuickClock: Sendable {
  private struct State {
    var now = 1_800_000_000.0
    var pauses: [Double] = []
  }
  private let state = NIOLockedValueBox(State())
  /// Pauses last until somebody ends them.
  private let holds: Bool

  init(holds: Bool = false) { self.holds = holds }

  var now: Double { state.withLockedValue { $0.now } }
  var pauses: [Double] { state.withLockedValue { $0.pauses } }
  func advance(_ seconds: Double) { state.withLockedValue { $0.now += seconds } }

  var clock: SessionClock {
    SessionClock(
      now: { self.now }, uptime: { self.now },
      sleep: { seconds in
        self.state.withLockedValue { $0.pauses.append(seconds) }
        // Cancellation is what ends it.
        if self.holds { try await Task.sleep(for: .seconds(3600)) }
        try Task.checkCancellation()
        self.advance(seconds)
      })
  }
}

/// Keeps what is logged as an error.
struct ErrorLog: LogHandler {
  final class Lines: Sendable {
    private let lines = NIOLockedValueBox<[String]>([])
    var all: [String] { lines.withLockedValue { $0 } }
    func add(_ line: String) { lines.withLockedValue { $0.append(line) } }
  }
  let lines: Lines
  var logLevel = Logger.Level.error
  var metadata: Logger.Metadata = [:]
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }
  func log(event: LogEvent) { lines.add("\(event.message) \(event.metadata ?? [:])") }
}

/// One account's session at a scripted server, and what it publishes.
final class SessionDesk: Sendable {
  static let jid = "alice@\(TestServer.domain)"
  let server: ScriptedServer
  let session: Session
  let hub: EventHub
  let errors = ErrorLog.Lines()
  let home: TemporaryDirectory
  private let seen = NIOLockedValueBox<[Event]>([])
  private let subscription: EventHub.Subscription

  /// - Parameter sessions: how many of them show another presence when they are in step.
  init(
    _ scripts: [[ScriptedServer.Step]], sessions: Int = .max, clock: QuickClock = QuickClock(),
    home: TemporaryDirectory? = nil,
    pace: ServerPace = ServerPace(), patience: SessionPatience = .standard
  ) async throws {
    server = try await ScriptedServer(eachConnection: scripts)
    let home = try home ?? TemporaryDirectory()
    self.home = home
    let lines = errors
    let localStore = try LocalStore(path: home.path + "/messages/imctl.sqlite")
    // Events of two desks with one home have different cursors.
    hub = try EventCursor(store: localStore).hub()
    var resources = SessionResources(
      accounts: AccountStore(directory: home.path + "/config"), hub: hub,
      localStore: localStore,
      log: Logger(label: "test") { _ in ErrorLog(lines: lines) }, pace: pace)
    resources.patience = patience
    resources.clock = clock.clock
    session = Session(of: try JID(Self.jid), resources)
    subscription = hub.subscribe(EventHub.Filter(), buffer: 100_000)
    Task { [weak self, subscription] in
      var left = sessions
      for await event in subscription {
        guard let self else { return }
        seen.withLockedValue { $0.append(event) }
        // The server waits for this: it knows then that the session is in step with it.
        guard case .state(let change) = event.body, change.state == .syncOK, left > 0 else { continue }
        left -= 1
        await self.questions()
        let away = PresenceSetMethod.Parameters(account: nil, show: .away)
        _ = try? await session.perform { try await $0.presence.set(away) }
      }
    }
  }

  /// Waits for the last question of a new session: what is said after it comes after it.
  private func questions() async {
    try? await eventually("the last question", within: .seconds(2)) {
      server.received(connection: server.connections).contains("disco#info")
    }
  }

  var events: [Event] { seen.withLockedValue { $0 } }
  var changes: [StateChange] {
    events.compactMap { if case .state(let change) = $0.body { change } else { nil } }
  }

  func parameters(_ resource: String? = nil) async throws -> LoginMethod.Parameters {
    var parameters = try await LoginMethod.Parameters(port: server.port)
    parameters.options.resource = resource
    return parameters
  }

  /// Has a message accepted, and waits for nothing else.
  func send(_ id: String) async throws {
    var message = OutgoingMessage(to: "bob@\(TestServer.domain)", body: "hello")
    message.id = id
    var sending = MessageSendMethod.Parameters(account: nil, messages: [message])
    sending.wait = .none
    _ = try await session.send(sending).outcome()
  }

  /// How the session was ended by others.
  var kicks: [Kick] {
    events.compactMap { if case .kicked(let kick) = $0.body { kick } else { nil } }
  }

  /// Waits until something holds for what was published of the session's state.
  func until(_ what: String, _ holds: @Sendable ([StateChange]) -> Bool) async throws {
    try await until(what) { holds(changes) }
  }

  func until(_ what: String, _ holds: () async throws -> Bool) async throws {
    try await eventually(what, within: .seconds(60), holds) {
      ": \(changes.map(\.state)), \(server.mismatches)"
    }
  }

  /// Waits until everything that was published so far has been seen.
  func caughtUp() async { await subscription.caughtUp() }

  /// What was published that is not of a session's life.
  var lawless: [String] {
    get async {
      await caughtUp()
      return lawlessSoFar
    }
  }

  private var lawlessSoFar: [String] {
    var last = SessionState.offline
    var wrong = errors.all.filter { $0.hasPrefix("internal error") }
    for change in changes {
      if change.previous != last || SessionLifecycle.event(from: last, to: change.state) == nil {
        wrong.append("\(last): \(change.previous) -> \(change.state)")
      }
      last = change.state
    }
    return wrong
  }
}

extension [ScriptedServer.Step] {
  /// A login up to `syncOK`, and what comes when the client has shown another presence after it.
  static func session(then steps: Self = [], jid: String? = nil) -> Self {
    .login(until: .bound, jid: jid ?? SessionDesk.jid + "/scripted") + .synced
      + (steps.isEmpty ? [] : [.client("<presence/>")] + steps)
  }

  /// A stream error, and the end of the stream.
  static func error(_ condition: String) -> Self {
    [
      .server(
        "<stream:error><\(condition) xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>"
          + "</stream:stream>"), .close,
    ]
  }
}
