import NIOCore
import XMPPTransport

/// Decides when to try each of an account's servers: some time after the previous one, or as soon as that one has
/// failed, until one has completed TLS (compare RFC 8305, which does so with the addresses of a host).
///
/// Pure: events go in, the next target or the result comes out.
struct TargetRace {
  /// The delay before the next target; a longer one follows a redirection target.
  static let stagger = TimeAmount.seconds(2)
  static let staggerElsewhere = TimeAmount.seconds(5)
  /// The time limit for one of several targets to complete TLS.
  static let patience = TimeAmount.seconds(15)

  enum Action: Equatable {
    /// Try another target under this number.
    case start(Int, ServerTarget)
    /// Nothing to do for now.
    case wait
    case fail(XMPPError)
  }

  private let targets: [ServerTarget]
  /// The number of targets at the front to which a server has redirected.
  private let elsewhere: Int
  private var next = 0
  private var running: Set<Int> = []
  private var failure: XMPPError?
  /// Whether a server was reached that could not be used, so that no other one is tried.
  private var isDecided = false

  init(_ targets: [ServerTarget], elsewhere: Int) {
    self.targets = targets
    self.elsewhere = elsewhere
  }

  subscript(_ number: Int) -> ServerTarget { targets[number] }

  func isElsewhere(_ number: Int) -> Bool { number < elsewhere }

  /// The delay between the start of this target and the next one; nil where none is left.
  func delay(after number: Int) -> TimeAmount? {
    guard number + 1 < targets.count else { return nil }
    return isElsewhere(number) ? Self.staggerElsewhere : Self.stagger
  }

  /// The time limit of each target; nil where there is only one.
  var limit: TimeAmount? { targets.count > 1 ? Self.patience : nil }

  /// Called when the first or the next target is due.
  mutating func due() -> Action {
    guard next < targets.count, !isDecided else { return .wait }
    defer { next += 1 }
    running.insert(next)
    return .start(next, targets[next])
  }

  /// Called when a target has failed. Another one may succeed only if this one was unreachable or silent.
  mutating func failed(_ number: Int, _ error: XMPPError, isSilent: Bool) -> Action {
    guard running.remove(number) != nil else { return .wait }
    if !isDecided { failure = error }
    if error.stage != .connect, error.stage != .dns, !isSilent { isDecided = true }
    if case .start(let number, let target) = due() { return .start(number, target) }
    guard running.isEmpty, let failure else { return .wait }
    return .fail(failure)
  }
}
