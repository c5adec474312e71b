/// The presence that a user asked for: the current one, and those to restore when a hold or a temporary presence ends.
///
/// Pure: the session stores it and sends ``effective``.
package struct PresenceIntent: Sendable, Equatable {
  /// A temporary presence.
  package struct Timed: Sendable, Equatable {
    package var value: Availability
    /// Seconds since 1970.
    package var until: Double

    package init(value: Availability, until: Double) {
      self.value = value
      self.until = until
    }
  }

  package private(set) var base: Availability
  package private(set) var timed: Timed?
  /// Presences held while a client is connected; the last one, which is the newest, takes precedence.
  private var holds: [(holder: UInt64, value: Availability, since: Double)] = []

  package init(base: Availability = Availability(), timed: Timed? = nil) {
    self.base = base
    self.timed = timed
  }

  /// The presence to send.
  package var effective: Availability { holds.last?.value ?? timed?.value ?? base }

  /// The default priority of a new presence.
  ///
  /// A lasting presence has priority 0 (RFC 6121 §4.7.2.3), since a priority belongs to the presence with which it was
  /// given. A temporary one keeps the priority of the lasting presence, so that it does not affect where messages are
  /// delivered.
  package func usualPriority(isLasting: Bool) -> Int { isLasting ? 0 : base.priority }

  var isHeld: Bool { !holds.isEmpty }

  /// Sets the presence; with `until` (seconds since 1970), only until then.
  package mutating func set(_ value: Availability, until: Double? = nil) {
    if let until {
      timed = Timed(value: value, until: until)
    } else {
      base = value
      timed = nil
    }
  }

  /// Replaces the stored presence; holds continue.
  package mutating func replaceStored(with stored: PresenceIntent) {
    base = stored.base
    timed = stored.timed
  }

  /// - Parameter since: the start of the hold in seconds since 1970, since clients renew their holds with a new agent
  ///   in any order.
  package mutating func hold(_ value: Availability, by holder: UInt64, since: Double = .infinity) {
    holds.removeAll { $0.holder == holder }
    let place = holds.firstIndex { $0.since > since } ?? holds.endIndex
    holds.insert((holder, value, since), at: place)
  }

  /// Ends the hold of a client; returns whether it had one.
  package mutating func release(_ holder: UInt64) -> Bool {
    let before = holds.count
    holds.removeAll { $0.holder == holder }
    return holds.count < before
  }

  /// Ends a temporary presence whose time has come; returns whether there was one.
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
