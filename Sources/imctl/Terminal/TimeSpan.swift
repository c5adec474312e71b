import ArgumentParser

/// A span of time as users write it: `90s`, `30m`, `2h`, `1.5h`; a number alone is seconds.
struct TimeSpan: ExpressibleByArgument, Equatable, Sendable {
  var seconds: Double

  init?(argument: String) {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    var digits = Substring(argument)
    var factor = 1.0
    if let last = digits.last, let unit = units[last] {
      factor = unit
      digits.removeLast()
    }
    guard let seconds = Self.number(digits).map({ $0 * factor }), seconds > 0, seconds <= Self.longest else {
      return nil
    }
    self.seconds = seconds
  }

  /// A year and a day. A longer time is probably a typing error.
  static let longest: Double = 366 * 86_400

  /// Parses decimal digits with at most one point, which is not at the end; rejects `1e3`, `inf`, `nan`, `0x10`, signs
  /// and spaces.
  static func number(_ digits: Substring) -> Double? {
    guard
      digits.utf8.allSatisfy({
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".")
      }),
      digits.last != "."
    else { return nil }
    return Double(digits)
  }
}

/// The value of `--timeout`: seconds with an optional fraction; 0: no limit.
struct Timeout: ExpressibleByArgument, Equatable, Sendable {
  var seconds: Double

  /// The default of commands that wait only for the agent.
  static let ofRequest = Timeout(seconds: 5)
  /// The time limit for the end of an agent, which closes its sessions.
  static let ofStop = Timeout(seconds: 15)

  init(seconds: Double) { self.seconds = seconds }

  init?(argument: String) {
    guard let seconds = TimeSpan.number(Substring(argument)), seconds <= TimeSpan.longest else { return nil }
    self.seconds = seconds
  }

  /// The default as the help shows it: without a fraction if it is whole.
  var defaultValueDescription: String {
    seconds.rounded() == seconds ? String(Int(seconds)) : String(seconds)
  }
}
