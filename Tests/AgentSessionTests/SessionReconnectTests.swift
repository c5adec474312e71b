import AgentProtocol
import AgentSystem
import TestSupport
import Testing

@testable import AgentLogin
@testable import AgentSession
@testable import AgentStore

@Suite("Sessions that come back", .timeLimit(.minutes(6)))
struct SessionReconnectTests {
  @Test(
    "A session makes one attempt more than its retries, with doubling pauses, and keeps its credential."
  )
  func maximum() async throws {
    let clock = QuickClock()
    let desk = try await SessionDesk([.session(then: [.reset]), [.close]], clock: clock)
    var parameters = try await desk.parameters()
    parameters.maxRetries = 3
    _ = try await desk.session.login(parameters)
    try await desk.until("the end") { $0.last?.cause?.name == .retriesExhausted }
    #expect(desk.changes.count { $0.state == .linkFailed } == 4)
    #expect(desk.changes.last?.cause?.detail?.description.hasPrefix("4 attempts") == true)
    #expect(desk.changes.last?.cause?.exit == 75)
    for (pause, range) in zip(clock.pauses, [0...1.0, 1...2, 2...4, 4...8]) { #expect(range.contains(pause)) }
    #expect(
      clock.pauses.count == 4,
      "\(desk.changes.map { [$0.state.rawValue, $0.cause?.detail?.description ?? ""] })")
    #expect(await desk.session.isActive == false)
    let stored = try await AccountStore(directory: desk.home.path + "/config").entry(desk.session.account)
    #expect(stored?.isLogin == true && stored?.password != nil)
    #expect(await desk.lawless == [])
  }

  @Test(
    "The status of a session that waits tells the cause, the next attempt, the last contact and the attempts."
  )
  func status() async throws {
    let clock = QuickClock(holds: true)
    let desk = try await SessionDesk(
      [.session(then: [.reset]), [.close], .session()], clock: clock)
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("a pause") { $0.last?.state == .waiting }
    let lost = await desk.session.currentStatus()
    #expect(lost.state == .waiting && !lost.isOnline)
    #expect(lost.cause?.name == .networkError && lost.lastSeen != nil && lost.attempt == nil)
    let retryIn = try #require(desk.changes.last?.retryIn)
    #expect(lost.nextRetry == Self.time(clock.now + retryIn))
    // The network is another one: the next attempt is made now.
    await desk.session.networkChanged(NetworkChange())
    try await desk.until("another pause") { changes in changes.count { $0.state == .waiting } == 2 }
    let status = await desk.session.currentStatus()
    #expect(status.attempt ?? 0 >= 1 && status.nextRetry != nil && status.cause != nil)
    await desk.session.networkChanged(NetworkChange())
    try await desk.until("its return") { $0.last?.state == .syncOK }
    let online = await desk.session.currentStatus()
    #expect(online.isOnline && online.cause == nil && online.nextRetry == nil && online.attempt == nil)
    #expect(online.lastSeen != nil)
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test(
    "The status of a session goes through the same states as its events, in the same order."
  )
  func told() async throws {
    let desk = try await SessionDesk([
      .session(then: [.reset]), .login(until: .bound, jid: SessionDesk.jid + "/scripted") + [.reset],
      .session(then: [.reset]), .session(then: .error("not-authorized")),
    ])
    let session = desk.session
    let asking = Task {
      var states = [await session.currentStatus().state]
      while !Task.isCancelled {
        let state = await session.currentStatus().state
        if state != states.last { states.append(state) }
      }
      return states
    }
    _ = try await session.login(try await desk.parameters())
    try await desk.until("the end") { $0.last?.state == .kicked }
    asking.cancel()
    #expect(desk.changes.contains { $0.state == .loginFailed })
    var told = [.offline] + desk.changes.map(\.state)
    for state in await asking.value {
      let place = told.firstIndex(of: state)
      #expect(place != nil, "\(state) is not among \(told)")
      told.removeFirst(place ?? 0)
    }
    #expect(await desk.lawless == [])
  }

  private static let secondHeader =
    "<stream:stream xmlns:stream='http://etherx.jabber.org/streams' id='2' version='1.0'>"

  private static func time(_ seconds: Double) -> String? { IssuedToken.text(seconds: seconds) }

  @Test("A session does not come back if the domain is gone from its server, and reports no kick.")
  func gone() async throws {
    let desk = try await SessionDesk([.session(then: .error("host-gone")), .session()])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("the end") { $0.last?.state == .loseConnection }
    #expect(desk.changes.last?.cause?.name == .serviceGone && desk.changes.last?.cause?.exit == 69)
    #expect(await desk.session.isActive == false)
    #expect(desk.server.connections == 1 && desk.kicks.isEmpty)
    #expect(await desk.session.end?.failure.name == .serviceGone)
    // What was stored stays: the service may move back.
    let stored = try await AccountStore(directory: desk.home.path + "/config").entry(desk.session.account)
    #expect(stored?.isLogin == true)
  }

  @Test(
    "A session comes back if the domain is unknown to its server for now, and reports no kick."
  )
  func unknown() async throws {
    let desk = try await SessionDesk([.session(then: .error("host-unknown")), .session()])
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("its return") { changes in changes.count { $0.state == .syncOK } == 2 }
    let lost = desk.changes.first { $0.state == .loseConnection }
    #expect(lost?.cause?.name == .unknownDomain && desk.kicks.isEmpty)
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test(
    "A session whose server begins a second stream on the connection comes back as a new one after a pause.",
    arguments: [
      [.server(secondHeader)], [.server("</stream:stream>" + secondHeader)],
      [
        .client("<r xmlns='urn:xmpp:sm:3'/>"), .server("</stream:stream>"), .client("</stream:stream>"),
        .server(secondHeader),
      ],
    ] as [[ScriptedServer.Step]])
  func secondStream(_ second: [ScriptedServer.Step]) async throws {
    let clock = QuickClock()
    var counted: [ScriptedServer.Step] =
      .login(until: .bound, features: "<sm xmlns='urn:xmpp:sm:3'/>", jid: SessionDesk.jid + "/scripted")
    counted += .counted() + .answered
    counted += [.server("<a xmlns='urn:xmpp:sm:3' h='5'/>"), .client("<presence/>")]
    let desk = try await SessionDesk([counted + second + [.stall], counted], sessions: 0, clock: clock)
    _ = try await desk.session.login(try await desk.parameters())
    // The server waits for that, and the login has ended.
    let away = PresenceSetMethod.Parameters(account: nil, show: .away)
    _ = try? await desk.session.perform { try await $0.presence.set(away) }
    try await desk.until("its return") { changes in changes.count { $0.state == .syncOK } == 2 }
    let ends = desk.changes.filter { $0.state == .loseConnection }
    #expect(ends.map(\.cause?.name) == [.protocolError] && ends.map(\.cause?.exit) == [76])
    #expect(desk.kicks.isEmpty && desk.server.mismatches == [])
    #expect(clock.pauses.count == 1)
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test(
    "Each attempt to come back makes one connection, even if the connection breaks during pipelining."
  )
  func brokenAhead() async throws {
    let clock = QuickClock()
    let broken: [[ScriptedServer.Step]] = [
      [.header, .client("<starttls/>"), .reset],
      .login(until: .secured) + [.header, .client("<auth/>"), .reset],
    ]
    // From here on the client waits for what it answers.
    let stepByStep: [ScriptedServer.Step] = [
      .header, .features("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"), .client("<starttls/>"),
      .reset,
    ]
    let desk = try await SessionDesk(
      [.session(then: [.reset])] + broken + [stepByStep, .session()], clock: clock)
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("its return") { changes in changes.count { $0.state == .syncOK } == 2 }
    #expect(desk.server.connections == 5)
    #expect(desk.changes.count { $0.state == .linkFailed || $0.state == .loginFailed } == 3)
    #expect(await desk.session.activePlan?.server?.isStepByStep == true)
    await desk.session.close()
    #expect(await desk.lawless == [])
  }

  @Test("A session that the server resets again and again comes back more slowly each time.")
  func resets() async throws {
    let clock = QuickClock()
    let desk = try await SessionDesk([.session(then: .error("reset"))], clock: clock)
    _ = try await desk.session.login(try await desk.parameters())
    try await desk.until("six sessions") { changes in changes.count { $0.state == .syncOK } >= 7 }
    await desk.session.close()
    // The first comes at once, without a pause.
    for (pause, range) in zip(clock.pauses, [1...2.0, 2...4, 4...8, 8...16, 16...32]) {
      #expect(range.contains(pause), "\(clock.pauses)")
    }
    #expect(await desk.lawless == [])
  }

  @Test("A session that fights for its resource gives up after the fourth kick in a row.")
  func fight() async throws {
    let clock = QuickClock()
    let desk = try await SessionDesk([.session(then: .error("conflict"))], clock: clock)
    var parameters = try await desk.parameters()
    parameters.onKick = .fight
    _ = try await desk.session.login(parameters)
    try await desk.until("the end") { desk.kicks.count == KickPolicy.limit + 1 }
    #expect(desk.server.connections == KickPolicy.limit + 1)
    let kicks = desk.kicks
    #expect(kicks.dropLast().allSatisfy { $0.next == .fight && $0.retryIn != nil })
    #expect(kicks.last?.next == .stop && kicks.last?.retryIn == nil)
    #expect(clock.pauses.count == KickPolicy.limit)
    #expect(await desk.session.isActive == false)
    #expect(await desk.lawless == [])
  }

  @Test(
    "A rate limit of a server delays every login to it, even one of the next agent."
  )
  func rateLimit() async throws {
    let home = try TemporaryDirectory()
    let path = home.path + "/state/imctl.sqlite"
    let clock = QuickClock()
    let limited: [ScriptedServer.Step] =
      [
        .header,
        .server(
          "<?xml version='1.0'?><stream:stream id='s1' from='\(TestServer.domain)' version='1.0'"
            + " xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"),
      ] + .error("policy-violation")
    let desk = try await SessionDesk(
      [limited, .session()], clock: clock, home: home, pace: ServerPace(store: try LocalStore(path: path)))
    let parameters = try await desk.parameters()
    let first = await #expect(throws: Failure.self) { try await desk.session.login(parameters) }
    #expect(first?.name == .rateLimited && first?.condition == "policy-violation")
    let connections = desk.server.connections
    for _ in 0..<3 {
      let early = await #expect(throws: Failure.self) { try await desk.session.login(parameters) }
      #expect(early?.name == .rateLimited && early?.stage == .connect && early?.exit == 86)
      clock.advance(90)
    }
    #expect(desk.server.connections == connections)
    // Another agent, another account, the same server.
    let next = ServerPace(store: try LocalStore(path: path))
    let name = "\(TestServer.host):\(desk.server.port)"
    #expect(next.pause(of: name, at: clock.now).map { (20...30).contains($0) } == true)
    #expect(next.pause(of: "other.example", at: clock.now) == nil)
    // Who waits for as long as it takes waits just so long.
    var patient = parameters
    patient.timeout = 0
    let before = clock.pauses.count
    _ = try await desk.session.login(patient)
    #expect(clock.pauses.dropFirst(before).first.map { (20...30).contains($0) } == true)
    #expect(desk.changes.contains { $0.state == .waiting && $0.cause?.name == .rateLimited })
    await desk.session.close()
    #expect(await desk.lawless == [])
  }
}

@Suite("Random events in the life of a session", .timeLimit(.minutes(8)))
struct SessionWalkTests {
  /// What a server may do with a connection.
  private static func script(_ generator: inout SeededGenerator) -> [ScriptedServer.Step] {
    switch Int.random(in: 0..<12, using: &generator) {
    case 0: return [.close]
    case 1: return .login(until: .opened) + [.close]
    case 2: return .login(until: .mechanisms) + [.reset]
    case 3: return .login(until: .authenticated) + [.close]
    case 4: return .login(until: .bound) + .error("conflict")
    case 5: return .session(then: .error("conflict"))
    case 6: return .session(then: .error("reset"))
    case 7: return .session(then: .error("system-shutdown"))
    case 8: return .session(then: [.server("</stream:stream>"), .close])
    case 9: return .session(then: [.reset])
    default: return .session()
    }
  }

  @Test(
    "A session publishes only the transitions that its life cycle allows, and a logout ends it.",
    arguments: [1, 2, 3] as [UInt64])
  func walk(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let scripts = (0..<120).map { _ in Self.script(&generator) } + [.session()]
    let desk = try await SessionDesk(scripts)
    let session = desk.session
    var running: [Task<Void, Never>] = []
    for _ in 0..<40 {
      var parameters = try await desk.parameters(
        ["desk", "sofa", nil].randomElement(using: &generator) ?? nil)
      parameters.timeout = [0, 5, 5].randomElement(using: &generator) ?? 5
      parameters.maxRetries = 5
      parameters.onKick = OnKick.allCases.randomElement(using: &generator)
      parameters.noSync = Bool.random(using: &generator)
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<6: running.append(Task { [parameters] in _ = try? await session.login(parameters) })
      case 6:
        let login = Task { [parameters] in _ = try? await session.login(parameters) }
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...60, using: &generator)))
        login.cancel()
        running.append(login)
      case 7: await session.networkChanged(NetworkChange())
      default: running.append(Task { _ = try? await session.logout(.init(account: nil)) })
      }
      // The next command comes at any moment of what the last one has begun.
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...120, using: &generator)))
    }
    _ = try? await session.logout(.init(account: nil))
    for task in running { await task.value }
    _ = try? await session.logout(.init(account: nil))
    #expect(await session.currentStatus().state == .offline)
    #expect(await session.isActive == false)
    await session.close()
    #expect(await desk.lawless == [])
    #expect(desk.changes.count > 40)
  }
}
