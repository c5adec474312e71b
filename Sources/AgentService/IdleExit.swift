/// Decides when an agent exits that is not needed: no account is logged in and no client is connected.
///
/// Pure: the caller passes events with their times.
struct IdleExit: Sendable, Equatable {
  /// The time after the start within which the command that started the agent will connect.
  static let grace: Duration = .milliseconds(4500)
  /// The time after the last client or account has gone, for scripts that run several commands in a row.
  static let linger: Duration = .seconds(2)

  private let earliest: ContinuousClock.Instant
  private let linger: Duration
  private var clients = 0
  private var accounts = 0
  /// Whether a service manager decides when the agent exits.
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

  /// The time of the exit if nothing else happens; nil while the agent is needed.
  var deadline: ContinuousClock.Instant? { isKept ? nil : idleSince.map { max($0 + linger, earliest) } }
}
