import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing

/// An account of an agent that has several, each over a link of its own that breaks when it is told to.
private struct Line: Sendable, CustomStringConvertible {
  let imctl: IMCTL
  let server: TestServer
  let kind: TestServer.Kind
  let fault: FaultProxy.Fault
  let name: String
  let proxy: FaultProxy
  /// The events of this account.
  let watch: ChildProcess

  private init(_ kind: TestServer.Kind, _ fault: FaultProxy.Fault, in imctl: IMCTL) async throws {
    self.imctl = imctl
    self.kind = kind
    self.fault = fault
    server = try await Neighbourhood.server(kind)
    name = Neighbourhood.nextName(of: kind)
    proxy = try await FaultProxy(to: server.port)
    watch = try await imctl.watch("--events", "state", "--account", server.jid(name))
  }

  /// Breaks a line for each server and fault, side by side; what goes wrong on one is told and leaves the others.
  ///
  /// The agent notices a silent server within six seconds, and gives an attempt six.
  ///
  /// - Parameter isOnline: whether each is logged in before. That is one after the other: a silent server is not awaited
  ///   for long, and it may be slow while many log in.
  static func each(
    _ faults: [TestServer.Kind: [FaultProxy.Fault]], isOnline: Bool = true,
    _ body: @escaping @Sendable (Line, Counterpart) async throws -> Void
  ) async throws {
    let imctl = try await IMCTL(environment: ["IMCTL_TEST_PATIENCE": "3,6,1000"])
    #expect(try await imctl.run("agent", "start").status == 0)
    var lines: [Line] = []
    for (kind, faults) in faults {
      for fault in faults { lines.append(try await Line(kind, fault, in: imctl)) }
    }
    if isOnline {
      for line in lines { try await line.goOnline() }
    }
    await withTaskGroup { group in
      for line in lines {
        group.addTask {
          do {
            try await body(line, Neighbourhood.counterpart(line.kind))
          } catch {
            Issue.record(error, "\(line): \((try? line.states) ?? [])")
          }
        }
      }
    }
    for line in lines { try await line.proxy.end() }
    try await imctl.end()
  }

  var description: String { "\(fault) on \(kind)" }

  /// How far apart the flights are at which the fault makes a difference. The client's flights are odd, the server's
  /// even, and a direction that is held back is held back from its own next flight on.
  var stepOfFlights: Int { fault.isSilent ? 2 : 1 }

  /// The first flight at which the fault makes a difference.
  var firstFlight: Int { fault == .stallDown ? 2 : 1 }

  /// How long anything may take: the longest that was waited for, a pause of the policy, and a slow machine.
  static let bound = Duration.seconds(60)

  var jid: String { server.jid(name) }

  func login(_ options: String...) async throws -> IMCTL.Result {
    try await imctl.run(
      [
        "login", jid, "--password-stdin", "--json", "--host", TestServer.host, "--port", String(proxy.port),
        "--ca-file", server.caFile,
      ] + options, input: server.password(name))
  }

  private func goOnline() async throws {
    let result = try await login()
    guard result.status == 0 else { throw TestSupportError("login: \(result)") }
  }

  func status() async throws -> SessionStatus {
    let result = try await imctl.run("status", "--json", "--account", jid)
    guard let status = try result.objects(SessionStatus.self).first else {
      throw TestSupportError("status: \(result)")
    }
    #expect((result.status == 0) == status.isOnline)
    return status
  }

  /// The states that the session has entered so far.
  var states: [SessionState] { get throws { try watch.events().states } }

  /// Asks for a presence, and waits until the others see it, however often the link breaks meanwhile.
  func show(_ text: String, to bob: Counterpart) async throws {
    let result = try await imctl.run("presence", "away", text, "--account", jid)
    #expect(result.status == 0, "\(result)")
    let from = jid + "/"
    try await bob.presence(within: Self.bound) { $0.from.hasPrefix(from) && $0.status == text }
  }

  /// What `status` says is what `watch` has said last, or says meanwhile.
  func tellsTheTruth() async throws {
    let before = try states
    let status = try await status()
    // The watcher is told the same moment.
    let said = before.last.map { [$0] } ?? []
    try await watch.output.first("\(jid) is \(status.state)", within: .seconds(10)) { _ in
      let states = try self.states
      return (said + states.dropFirst(before.count)).contains(status.state) ? () : nil
    }
  }

  /// Lets connections through again, half a second after the fault that lets none.
  var opener: Task<Void, any Error> {
    Task {
      while fault == .away {
        try await Task.sleep(for: .milliseconds(500))
        try await proxy.open()
      }
    }
  }

  /// Waits until it is synced, its presence shown.
  func isBack() async throws {
    try await eventually("\(jid) is back") {
      let status = try await self.imctl.session(jid)
      return status?.state == .syncOK && status?.presence?.applied == true
    }
  }
}

@Suite("Sessions over a faulty connection", .serialized)
struct FaultTests {
  @Test(
    "A session comes back with the desired presence, wherever the connection breaks during its return.",
    arguments: TestServer.Kind.allCases)
  func flights(kind: TestServer.Kind) async throws {
    try await Line.each([kind: FaultProxy.Fault.allCases]) { line, bob in
      let fault = line.fault
      var flight = line.firstFlight
      while true {
        let broken = try await line.proxy.brokenFlights
        try await line.proxy.fault(fault, atFlight: flight)
        try await line.proxy.fault(.cut)
        try await line.tellsTheTruth()
        let opener = line.opener
        try await line.show("\(fault) at \(flight)", to: bob)
        try await line.isBack()
        opener.cancel()
        try await line.tellsTheTruth()
        let isOver = try await line.proxy.brokenFlights == broken
        // What was held back comes now, to a server that may have given the session to another connection.
        try await line.proxy.resume()
        if isOver { break }
        flight += line.stepOfFlights
      }
      // No return takes less, and none goes on for ever.
      #expect((5...30).contains(flight), "\(line)")
      let states = try line.states
      #expect(!states.contains(.kicked) && !states.contains(.offline), "\(line): \(states)")
    }
  }

  @Test(
    "A session comes back if the connection breaks while it is idle, sends presence or receives a message.",
    arguments: TestServer.Kind.allCases)
  func running(kind: TestServer.Kind) async throws {
    try await Line.each([kind: FaultProxy.Fault.allCases]) { line, bob in
      let fault = line.fault
      try await line.tellsTheTruth()
      // While nothing happens.
      let seen = try line.states.count
      try await line.proxy.fault(fault)
      if fault != .delay {
        try await line.watch.output.first("the loss", within: Line.bound) { _ in
          try line.states.dropFirst(seen).contains(.loseConnection) ? () : nil
        }
      }
      try await line.tellsTheTruth()
      try await line.proxy.resume()
      try await line.show("\(fault) while idle", to: bob)
      try await line.isBack()
      // While presence is sent.
      var fired = try await line.proxy.fired
      try await line.proxy.fault(fault, afterSending: 1)
      var opener = line.opener
      try await line.show("\(fault) while sending", to: bob)
      try await line.isBack()
      opener.cancel()
      try await line.proxy.resume()
      // While a message arrives.
      fired = try await line.proxy.fired
      try await line.proxy.fault(fault, afterReceiving: 1)
      try bob.send("hello over a line with \(fault)", to: line.jid)
      opener = line.opener
      try await line.proxy.fires(after: fired)
      try await line.show("\(fault) while receiving", to: bob)
      try await line.isBack()
      opener.cancel()
      try await line.tellsTheTruth()
      let states = try line.states
      #expect(!states.contains(.kicked) && !states.contains(.offline), "\(line): \(states)")
    }
  }

  @Test("A message whose transmission a broken connection interrupts arrives exactly once.")
  func middle() async throws {
    try await Line.each([.prosody: [.cut], .ejabberd: [.cut], .prosody13: [.cut], .ejabberd24: [.cut]]) {
      line, bob in
      try await line.proxy.fault(.cut, afterSending: 40_000)
      let body = line.jid + String(repeating: " and on", count: 8000)
      let result = try await line.imctl.run(
        ["send", line.server.jid("bob"), "--account", line.jid, "--timeout", "60"], input: body)
      #expect(result.status == 0, "\(result)")
      try await bob.settled()
      #expect(bob.messages.count { $0.body == body } == 1)
      #expect(try await line.status().uncertain == 0)
    }
  }

  @Test(
    "A login over a faulty connection fails as a network error at the right stage, and can be repeated."
  )
  func byHand() async throws {
    let faults: [TestServer.Kind: [FaultProxy.Fault]] = [
      .prosody: [.cut, .close, .stallDown], .ejabberd24: [.cut, .halfDown, .stallUp],
    ]
    try await Line.each(faults, isOnline: false) { line, _ in
      var flight = line.firstFlight
      while true {
        let fired = try await line.proxy.fired
        try await line.proxy.fault(line.fault, atFlight: flight)
        let result = try await line.login("--timeout", "6")
        if try await line.proxy.fired == fired || result.status == 0 { break }
        let error = try result.error
        #expect(["networkError", "connectTimeout"].contains(error.name), "\(line) at \(flight): \(error)")
        #expect(result.status == 75, "\(line) at \(flight): \(error)")
        #expect(error.retryable)
        #expect(["connect", "tls", "stream", "authenticate", "bind", "sync"].contains(error.stage))
        let status = try await line.imctl.run("status", "--account", line.jid)
        #expect(status.status != 0, "\(line) at \(flight)")
        try await line.proxy.resume()
        flight += line.stepOfFlights
      }
      try await line.proxy.resume()
      #expect((5...30).contains(flight), "\(line): \(flight)")
      let result = try await line.login()
      #expect(result.status == 0, "\(line): \(result)")
    }
  }
}
