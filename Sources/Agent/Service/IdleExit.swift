/// When an agent ends that nobody needs: no account is logged in and no client is connected.
///
/// Pure: it is told what happens and when, and says until when to wait.
struct IdleExit: Sendable, Equatable {
  /// Time after the start in which the command that started the agent will connect.
  static let grace: Duration = .milliseconds(4500)
  /// Time after the last client or account has gone, for a script that calls one command after another.
  static let linger: Duration = .seconds(2)

  private let earliest: ContinuousClock.Instant
  private let linger: Duration
  private var clients = 0
  private var accounts = 0
  /// A service manager decides when it ends.
  private let isKept: Bool
  private var idleSince: ContinuousClock.Instant?

  init(
    started: ContinuousClock.Instant, grace: Duration = grace, linger: Duration = linger, isKept: Bool = false
  ) {
    self.isKept = isKept
    earliest = started + grace
    self.linger = linger
    idleSince = started
  }

  mutating func update(clients: Int? = nil, accounts: Int? = nil, at now: ContinuousClock.Instant) {
    self.clients = clients ?? self.clients
    self.accounts = accounts ?? self.accounts
    if self.clients > 0 || self.accounts > 0 {
      idleSince = nil
    } else if idleSince == nil {
      idleSince = now
    }
  }

  /// When the agent ends if nothing else happens; `nil` while it is needed.
  var deadline: ContinuousClock.Instant? { isKept ? nil : idleSince.map { max($0 + linger, earliest) } }
}
