import AgentProtocol

/// The presence a user asked for: what is shown now, and what comes back when a hold or a time ends.
///
/// Pure: the session stores it and sends what ``effective`` says.
package struct PresenceIntent: Sendable, Equatable {
  package struct Value: Codable, Sendable, Equatable {
    package var show: PresenceShow = .online
    package var status: String?
    package var priority = 0

    package init(show: PresenceShow = .online, status: String? = nil, priority: Int = 0) {
      self.show = show
      self.status = status
      self.priority = priority
    }
  }

  /// A presence for a time, and what was before it.
  package struct Timed: Codable, Sendable, Equatable {
    package var value: Value
    /// Seconds since 1970.
    package var until: Double

    package init(value: Value, until: Double) {
      self.value = value
      self.until = until
    }
  }

  package private(set) var base: Value
  package private(set) var timed: Timed?
  /// Held while a client lives; the newest, which is the last, wins.
  private var holds: [(holder: UInt64, value: Value, since: Double)] = []

  package init(base: Value = Value(), timed: Timed? = nil) {
    self.base = base
    self.timed = timed
  }

  /// What the server is to show.
  package var effective: Value { holds.last?.value ?? timed?.value ?? base }

  /// The priority of a presence that is given without one.
  ///
  /// What lasts has none (RFC 6121 §4.7.2.3): a priority belongs to the presence that it was given with. What soon ends
  /// leaves the device as it is for messages: as the lasting presence has it, and not what is held beside.
  package func usualPriority(isLasting: Bool) -> Int { isLasting ? 0 : base.priority }

  var isHeld: Bool { !holds.isEmpty }

  /// Sets what is shown from now on; `until` (seconds since 1970): only until then.
  package mutating func set(_ value: Value, until: Double? = nil) {
    if let until {
      timed = Timed(value: value, until: until)
    } else {
      base = value
      timed = nil
    }
  }

  /// Takes over what is stored; what is held goes on.
  package mutating func replaceStored(with stored: PresenceIntent) {
    base = stored.base
    timed = stored.timed
  }

  /// - Parameter since: when the hold began, in seconds since 1970: holds come back to a new agent in any order.
  package mutating func hold(_ value: Value, by holder: UInt64, since: Double = .infinity) {
    holds.removeAll { $0.holder == holder }
    let place = holds.firstIndex { $0.since > since } ?? holds.endIndex
    holds.insert((holder, value, since), at: place)
  }

  /// Ends the hold of a client; whether it had one.
  package mutating func release(_ holder: UInt64) -> Bool {
    let before = holds.count
    holds.removeAll { $0.holder == holder }
    return holds.count < before
  }

  /// Ends a timed presence whose time has come; whether there was one.
  package mutating func expire(at now: Double) -> Bool {
    guard let timed, timed.until <= now else { return false }
    self.timed = nil
    return true
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.base == right.base && left.timed == right.timed
      && left.holds.map(\.holder) == right.holds.map(\.holder)
      && left.holds.map(\.value) == right.holds.map(\.value)
  }
}
