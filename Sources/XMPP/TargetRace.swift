import NIOCore
import XMPPTransport

/// Decides which of an account's servers is tried when: each a while after the one before, or as soon as that cannot be
/// reached, until one has got as far as TLS (compare RFC 8305, which does so with the addresses of a host).
///
/// Pure: what has happened goes in, whom to try next and how it ends come out.
struct TargetRace {
  /// How long the next target waits for the ones before it; where the server has sent to the one before, that is given
  /// more time.
  static let stagger = TimeAmount.seconds(2)
  static let staggerElsewhere = TimeAmount.seconds(5)
  /// How long one of several targets may take to get as far as TLS.
  static let patience = TimeAmount.seconds(15)

  enum Action: Equatable {
    /// One more is tried, under this number.
    case start(Int, ServerTarget)
    /// Nothing for now.
    case wait
    case fail(XMPPError)
  }

  private let targets: [ServerTarget]
  /// So many at the beginning are where a server has sent to.
  private let elsewhere: Int
  private var next = 0
  private var running: Set<Int> = []
  private var failure: XMPPError?
  /// A server was reached that could not be used: no other is asked.
  private var isDecided = false

  init(_ targets: [ServerTarget], elsewhere: Int) {
    self.targets = targets
    self.elsewhere = elsewhere
  }

  subscript(_ number: Int) -> ServerTarget { targets[number] }

  func isElsewhere(_ number: Int) -> Bool { number < elsewhere }

  /// How long after this target's start the next one is due; nil where none is left.
  func delay(after number: Int) -> TimeAmount? {
    guard number + 1 < targets.count else { return nil }
    return isElsewhere(number) ? Self.staggerElsewhere : Self.stagger
  }

  /// How long each may take; nil where there is only one.
  var limit: TimeAmount? { targets.count > 1 ? Self.patience : nil }

  /// The first target is due, or the next one.
  mutating func due() -> Action {
    guard next < targets.count, !isDecided else { return .wait }
    defer { next += 1 }
    running.insert(next)
    return .start(next, targets[next])
  }

  /// A target has failed. Another one may do better only where this one could not be reached, or was silent.
  mutating func failed(_ number: Int, _ error: XMPPError, isSilent: Bool) -> Action {
    guard running.remove(number) != nil else { return .wait }
    if !isDecided { failure = error }
    if error.stage != .connect, error.stage != .dns, !isSilent { isDecided = true }
    if case .start(let number, let target) = due() { return .start(number, target) }
    guard running.isEmpty, let failure else { return .wait }
    return .fail(failure)
  }
}
