import TestSupport
import Testing
import XMPP
import XMPPClient
import XMPPStanza

/// The decisions of a client that comes back, without a socket.
@Suite("The connection machine")
struct ConnectionMachineTests {
  typealias Machine = ConnectionMachine

  static let broken = XMPPError(.networkError, stage: .stream, "the connection was lost")
  static let refused = XMPPError(
    .authFailed, stage: .authenticate, "the server refused the login", condition: "not-authorized")

  /// The inputs of the table, by name; those of a stream carry the number of the attempt or of the session.
  static let inputs: [(name: String, input: @Sendable (Machine) -> Machine.Input)] = [
    ("connect", { _ in .connect(after: 0) }), ("connectLater", { _ in .connect(after: 5) }),
    ("replace", { _ in .replace(after: 0) }),
    ("disconnect", { _ in .disconnect }),
    ("replaceLater", { _ in .replace(after: 5) }), ("suspend", { _ in .suspend }),
    ("hold", { _ in .hold }),
    ("prepared", { .prepared($0.attemptNumber) }), ("bound", { .bound($0.attemptNumber) }),
    ("failed", { .ended($0.attemptNumber, broken, leaving: nil) }),
    ("again", { .decided($0.attemptNumber, .atOnce) }),
    ("later", { .decided($0.attemptNumber, .afterPause(.link)) }),
    ("never", { .decided($0.attemptNumber, .never) }), ("timer", { .timer($0.attemptNumber) }),
    ("lost", { .ended($0.linkNumber, broken, leaving: nil) }),
    ("accepted", { .accepted($0.linkNumber) }), ("refused", { .refused($0.linkNumber, refused) }),
    ("network", { _ in .networkChanged(gone: []) }),
    ("address", { .networkChanged(gone: [$0.attemptNumber, $0.linkNumber]) }),
    ("answered", { .answered($0.linkNumber) }),
  ]

  /// Each state that can be reached, with the shortest way to it.
  static let reachable: [(state: Machine.State, machine: Machine)] = {
    var found: [(state: Machine.State, machine: Machine)] = [(Machine.State(), Machine())]
    var next = 0
    while next < found.count {
      for (_, input) in inputs {
        var machine = found[next].machine
        _ = machine.handle(input(machine), at: 0)
        if !found.contains(where: { $0.state == machine.state }) { found.append((machine.state, machine)) }
      }
      next += 1
    }
    return found
  }()

  static func text(_ state: Machine.State) -> String { "\(state.wish)/\(state.attempt)/\(state.link)" }

  /// One line for each input that changes the state or leads to an action.
  static func table() -> String {
    var lines: [String] = []
    for (state, machine) in reachable {
      lines.append(text(state))
      for (name, input) in inputs {
        var machine = machine
        let actions = machine.handle(input(machine), at: 0)
        guard machine.state != state || !actions.isEmpty else { continue }
        lines.append((["  \(name):", text(machine.state)] + actions.map(text)).joined(separator: " "))
      }
    }
    return lines.joined(separator: "\n")
  }

  private static func text(_ action: Machine.Action) -> String {
    switch action {
    case .prepare(let number, let remedy): "prepare-\(number)" + (remedy.map { "-\($0)" } ?? "")
    case .open(let number): "open-\(number)"
    case .close(let number): "close-\(number)"
    case .abort(let number): "abort-\(number)"
    case .probe(let number): "probe-\(number)"
    case .decide(let number, _, let wasInUse): "decide-\(number)-\(wasInUse ? "lost" : "failed")"
    case .startTimer(let number, _): "startTimer-\(number)"
    case .stopTimer(let number): "stopTimer-\(number)"
    }
  }

  @Test("Each reachable state of the machine answers each input as the table says.")
  func everyStateWithEveryInput() {
    #expect(Self.reachable.count == 32)
    #expect(Self.table() == ConnectionTable.text)
  }

  @Test("An input from an earlier stream changes nothing.")
  func staleInputs() {
    for (state, machine) in Self.reachable {
      for number in [-1, 99] {
        let inputs: [Machine.Input] = [
          .ended(number, Self.broken, leaving: nil), .decided(number, .atOnce), .timer(number),
          .answered(number), .accepted(number), .refused(number, Self.refused),
        ]
        for input in inputs {
          var machine = machine
          #expect(machine.handle(input, at: 0) == [])
          #expect(machine.state == state)
        }
        for input in [Machine.Input.prepared(number), .bound(number)] {
          var machine = machine
          #expect(machine.handle(input, at: 0) == [.close(number)])
          #expect(machine.state == state)
        }
      }
    }
  }

  @Test(
    "After any sequence of inputs no stream is open except that of the attempt and that of the session.",
    arguments: 0..<200)
  func noStreamIsForgotten(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var machine = Machine()
    var open: Set<Int> = []
    var isTimerRunning = false
    for step in 0..<300 {
      let input = Self.inputs.randomElement(using: &generator)?.input(machine) ?? .hold
      // Only a stream that is open is bound or ends.
      switch input {
      case .bound(let number) where !open.contains(number): continue
      case .ended(let number, _, _): open.remove(number)
      default: break
      }
      for action in machine.handle(input, at: Double(step), using: &generator) {
        switch action {
        case .open(let number): open.insert(number)
        case .close(let number):
          // A session is open until the server has agreed.
          if number != machine.linkNumber || machine.state.link == .none { open.remove(number) }
        case .startTimer: isTimerRunning = true
        case .stopTimer: isTimerRunning = false
        case .prepare: isTimerRunning = false
        case .abort, .probe, .decide: break
        }
      }
      var wanted: Set<Int> = []
      if machine.state.attempt == .opening { wanted.insert(machine.attemptNumber) }
      if machine.state.link != .none { wanted.insert(machine.linkNumber) }
      #expect(open == wanted, "step \(step)")
      #expect(isTimerRunning == (machine.state.attempt == .waiting), "step \(step)")
      switch machine.state.wish {
      case .online: break
      case .held:
        #expect([.none, .deciding].contains(machine.state.attempt))
        #expect(machine.state.link != .beginning)
      case .offline, .suspended:
        #expect(machine.state.attempt == .none)
        #expect([.none, .closing].contains(machine.state.link))
      }
    }
  }

  @Test(
    "The pauses grow while sessions are lost soon after login, and are short again after a session that lasted."
  )
  func pauses() {
    var generator = SeededGenerator(seed: 3)
    var machine = Machine()
    var now = 0.0
    var pauses: [Double] = []
    func lose(after seconds: Double) -> Double {
      _ = machine.handle(.prepared(machine.attemptNumber), at: now)
      _ = machine.handle(.bound(machine.attemptNumber), at: now)
      _ = machine.handle(.accepted(machine.linkNumber), at: now)
      now += seconds
      _ = machine.handle(.ended(machine.linkNumber, Self.broken, leaving: nil), at: now)
      let verdict = Machine.Input.decided(machine.attemptNumber, .afterPause(.server))
      guard
        case .startTimer(let number, let pause) = machine.handle(verdict, at: now, using: &generator).first
      else { return .nan }
      now += pause
      _ = machine.handle(.timer(number), at: now)
      return pause
    }
    _ = machine.handle(.connect(after: 0), at: now)
    for _ in 0..<8 { pauses.append(lose(after: 1)) }
    #expect(pauses.last ?? 0 >= 30)
    #expect(lose(after: ReconnectPolicy.settled) <= 10)
  }

  @Test(
    "A network change ends a pause after a fault of the link or the server, but no pause that the server has asked for."
  )
  func hurry() {
    for (verdict, ends) in [
      (ConnectionVerdict.afterPause(.link), true), (.afterPause(.server), true),
      (.afterPause(.rateLimit), false),
      (.afterPause(.later), false), (.after(seconds: 5), false),
    ] {
      var machine = Machine()
      _ = machine.handle(.connect(after: 0), at: 0)
      _ = machine.handle(.ended(1, Self.broken, leaving: nil), at: 0)
      _ = machine.handle(.decided(2, verdict), at: 0)
      #expect(machine.state.attempt == .waiting)
      _ = machine.handle(.networkChanged(gone: []), at: 0)
      #expect((machine.state.attempt == .preparing) == ends, "\(verdict)")
    }
  }

  /// A machine whose session is in use, and which has been told these since.
  private static func online(_ inputs: Machine.Input...) -> Machine {
    var machine = Machine()
    let begin: [Machine.Input] = [.connect(after: 0), .prepared(1), .bound(1), .accepted(1)]
    for input in begin + inputs { _ = machine.handle(input, at: 0) }
    return machine
  }

  private static let lost = Machine.Input.ended(1, broken, leaving: nil)

  @Test("A pause that a hold interrupts continues with its remaining time when the client connects again.")
  func brokenOff() {
    var machine = Self.online(Self.lost, .decided(2, .after(seconds: 60)))
    #expect(machine.handle(.hold, at: 20) == [.stopTimer(3)])
    #expect(machine.handle(.connect(after: 0), at: 50) == [.startTimer(4, seconds: 10)])
    _ = machine.handle(.hold, at: 55)
    #expect(machine.handle(.connect(after: 30), at: 58) == [.startTimer(5, seconds: 30)])
    _ = machine.handle(.hold, at: 60)
    #expect(machine.handle(.connect(after: 0), at: 100) == [.prepare(6, nil)])
  }

  @Test(
    "A session that is lost during a hold comes back after the hold and the pause that was decided for its loss."
  )
  func lostInHold() {
    var machine = Self.online(.hold)
    #expect(machine.handle(Self.lost, at: 5) == [.decide(2, after: Self.broken, wasInUse: true)])
    // Another hold does not make it forget that.
    #expect(machine.handle(.hold, at: 6) == [])
    #expect(machine.handle(.decided(2, .after(seconds: 60)), at: 10) == [])
    #expect(machine.state.attempt == .none)
    #expect(machine.handle(.connect(after: 0), at: 30) == [.startTimer(3, seconds: 40)])
    // Decided only after the hold, it is as without one.
    machine = Self.online(.hold, Self.lost, .connect(after: 0))
    #expect(machine.handle(.decided(2, .after(seconds: 60)), at: 10) == [.startTimer(3, seconds: 60)])
  }

  @Test("A program that connects while a failed attempt is being judged starts a new attempt at once.")
  func undecided() {
    var machine = Machine()
    for input in [Machine.Input.replace(after: 0), .prepared(1), Self.lost] {
      _ = machine.handle(input, at: 0)
    }
    #expect(machine.state.attempt == .deciding)
    #expect(machine.handle(.connect(after: 0), at: 0) == [.close(2), .prepare(3, nil)])
    #expect(machine.handle(.decided(2, .never), at: 0) == [])
    #expect(machine.state.wish == .online)
  }

  @Test(
    "A session that ends before it is accepted counts as a failed attempt, and its remedy is tried at once."
  )
  func notAccepted() {
    var machine = Machine()
    let begin: [Machine.Input] = [.connect(after: 0), .prepared(1), .bound(1)]
    for input in begin { _ = machine.handle(input, at: 0) }
    var excess = Self.broken
    excess.isExcess = true
    #expect(machine.handle(.ended(1, excess, leaving: nil), at: 0) == [.prepare(2, .leavingOutExcess)])
    for input in [Machine.Input.prepared(2), .bound(2)] { _ = machine.handle(input, at: 0) }
    let end = machine.handle(.ended(2, Self.broken, leaving: nil), at: 0)
    #expect(end == [.decide(3, after: Self.broken, wasInUse: false)])
  }

  @Test("A refused session is closed and counts as a failed attempt before the server has closed the stream.")
  func refusal() {
    var machine = Machine()
    let begin: [Machine.Input] = [.connect(after: 0), .prepared(1), .bound(1)]
    for input in begin { _ = machine.handle(input, at: 0) }
    let actions = machine.handle(.refused(1, Self.refused), at: 0)
    #expect(actions == [.close(1), .decide(2, after: Self.refused, wasInUse: false)])
    #expect(machine.handle(.decided(2, .atOnce), at: 0) == [.prepare(3, nil)])
    #expect(machine.handle(.ended(1, nil, leaving: nil), at: 0) == [])
    #expect(machine.state.attempt == .preparing && machine.state.link == .none)
    // One that is in use is not refused any more.
    var online = Self.online()
    #expect(online.handle(.refused(1, Self.refused), at: 0) == [])
  }

  @Test("A loss that follows a network change leads to a new attempt without a pause.")
  func expected() {
    var machine = Self.online(.networkChanged(gone: []), Self.lost)
    #expect(machine.handle(.decided(2, .afterPause(.server)), at: 0) == [.prepare(3, nil)])
  }

  @Test("A pause is never shorter or longer than the program allows.")
  func bounds() {
    for (atLeast, atMost, expected) in [(100, .infinity, 100), (100, 50, 50)] as [(Double, Double, Double)] {
      var machine = Self.online(Self.lost)
      var terms = PauseTerms()
      (terms.atLeast, terms.atMost) = (atLeast, atMost)
      let actions = machine.handle(.decided(2, .afterPause(.link, terms)), at: 0)
      #expect(actions == [.startTimer(3, seconds: expected)])
    }
    var machine = Self.online(Self.lost)
    var terms = PauseTerms()
    terms.mayHurry = false
    terms.atLeast = 1
    _ = machine.handle(.decided(2, .afterPause(.link, terms)), at: 0)
    #expect(machine.handle(.networkChanged(gone: []), at: 0) == [])
  }
}
