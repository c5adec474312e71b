import AgentProtocol
import FoundationEssentials
import TestSupport
import Testing
import XMPPSASL
import XMPPStanza

@testable import AgentLogin
@testable import AgentSession
@testable import AgentStore

@Suite("The reaction to kicks") struct KickPolicyTests {
  @Test("A kick ends the session if no other reaction is set.")
  func stop() {
    var generator = SeededGenerator(seed: 1)
    var policy = KickPolicy()
    for second in 0..<10 {
      #expect(policy.answer(.stop, at: Double(second) * 10_000, using: &generator) == .stop)
    }
  }

  @Test(
    "A session comes back after three kicks in a row, after ever longer pauses, and not after the fourth.",
    arguments: 0..<30)
  func limit(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var policy = KickPolicy()
    var now = 0.0
    for range in [5.0, 10, 20] {
      guard case .comeBack(let pause, let newResource) = policy.answer(.reconnect, at: now, using: &generator)
      else {
        Issue.record("it stopped")
        return
      }
      #expect((range / 2...range).contains(pause) && newResource)
      now += pause + 1
    }
    #expect(policy.answer(.reconnect, at: now, using: &generator) == .stop)
    // And not the next time either, as long as it does not stop.
    #expect(policy.answer(.reconnect, at: now + 10, using: &generator) == .stop)
    #expect(
      policy.answer(.reconnect, at: now + 10 + KickPolicy.calm, using: &generator) != .stop)
  }

  @Test("The number of kicks in a row starts again after a calm hour and after a manual login.")
  func calm() {
    var generator = SeededGenerator(seed: 4)
    var policy = KickPolicy()
    for hour in 0..<20 {
      let answer = policy.answer(.fight, at: Double(hour) * KickPolicy.calm, using: &generator)
      guard case .comeBack(let pause, false) = answer else {
        Issue.record("it stopped")
        return
      }
      #expect(pause <= 5)
    }
    for _ in 0..<10 { _ = policy.answer(.fight, at: 0, using: &generator) }
    policy.begin()
    #expect(policy.answer(.fight, at: 0, using: &generator) != .stop)
  }

  /// Clients that fight for one resource: who binds it ends who had it.
  private func fight(_ wishes: [OnKick], seed: UInt64) -> (kicks: Int, online: [Int], seconds: Double) {
    var generator = SeededGenerator(seed: seed)
    var policies = wishes.map { _ in KickPolicy() }
    // When each comes (back), nil: it does not.
    var due = wishes.indices.map { Double($0) as Double? }
    var holder: Int?
    var kicks = 0
    var now = 0.0
    while let next = due.indices.filter({ due[$0] != nil }).min(by: { due[$0] ?? 0 < due[$1] ?? 0 }) {
      now = due[next] ?? now
      due[next] = nil
      if let loser = holder {
        kicks += 1
        if case .comeBack(let pause, _) = policies[loser].answer(wishes[loser], at: now, using: &generator) {
          due[loser] = now + pause
        }
      }
      holder = next
      if kicks > 10_000 { break }
    }
    return (kicks, holder.map { [$0] } ?? [], now)
  }

  @Test(
    "A fight between clients for one resource leaves exactly one of them online within two minutes.",
    arguments: 2...6)
  func settles(fighters: Int) {
    for seed in 0..<200 {
      let end = fight(Array(repeating: .fight, count: fighters), seed: UInt64(seed))
      #expect(end.online.count == 1)
      #expect(end.kicks <= fighters * (KickPolicy.limit + 1))
      #expect(end.seconds < 120, "\(end.seconds)")
    }
  }

  @Test("A fight with a client that does not fight back is over as soon as that client is kicked.")
  func unequal() {
    let end = fight([.stop, .fight], seed: 1)
    #expect(end.online == [1] && end.kicks == 1)
    let other = fight([.fight, .stop], seed: 1)
    #expect(other.online == [0] && other.kicks == 2)
  }

  @Test("A new resource after a kick is the original one with a random suffix, and does not grow.")
  func otherResource() throws {
    var plan = try LoginPlan(
      account: try .init("alice@example.org/desk"), credential: LoginCredential(), isGiven: false, store: nil,
      options: ConnectionOptions())
    var seen: Set<String> = []
    for _ in 0..<50 {
      plan.chooseOtherResource()
      let resource = try #require(plan.options.resource)
      #expect(resource.hasPrefix("desk-") && resource.count == 9)
      seen.insert(resource)
    }
    #expect(seen.count > 40)
  }
}

@Suite("The stored reactions to kicks and refused passwords") struct KeptWishTests {
  @Test("The reactions to kicks and to refused passwords are stored with the account.")
  func stored() throws {
    var account = Account(account: "a@example.org", domain: "example.org")
    account.onKick = .fight
    account.onAuthFailure = "renew 'my secret'"
    let read = try JSONDecoder().decode(Account.self, from: JSONEncoder().encode(account))
    #expect(read == account)
    var plan = try LoginPlan(
      account: try JID("a@example.org"), credential: LoginCredential(), isGiven: false, store: nil,
      options: ConnectionOptions())
    plan.apply(read, at: 0)
    #expect(plan.onKick == .fight && plan.onAuthFailure == "renew 'my secret'")
  }

  @Test(
    "A login that finds the session online stores changed reactions without a new connection."
  )
  func changed() async throws {
    let desk = try await SessionDesk([.session()])
    _ = try await desk.session.login(try await desk.parameters())
    var parameters = try await desk.parameters()
    // A secret that is given now would be verified on a connection of its own.
    parameters.password = nil
    parameters.onKick = .reconnect
    parameters.onAuthFailure = "renew"
    #expect(try await desk.session.login(parameters).already)
    let store = AccountStore(directory: desk.home.path + "/config")
    var stored = try await store.entry(desk.session.account)
    #expect(stored?.onKick == .reconnect && stored?.onAuthFailure == "renew")
    #expect(await desk.session.activePlan?.onKick == .reconnect)
    parameters.onKick = nil
    parameters.onAuthFailure = ""
    #expect(try await desk.session.login(parameters).already)
    stored = try await store.entry(desk.session.account)
    #expect(stored?.onKick == .reconnect && stored?.onAuthFailure == nil)
    #expect(desk.server.connections == 1)
    await desk.session.close()
  }

  /// A plan of a kind, with everything in it that was refused.
  private func plan(_ kind: LoginKind) throws -> LoginPlan {
    var credential = LoginCredential()
    credential.kind = kind
    var plan = try LoginPlan(
      account: try JID("a@example.org"), credential: credential, isGiven: false, store: nil,
      options: ConnectionOptions())
    plan.deviceToken = DeviceToken(mechanism: "HT-SHA-256-NONE", secret: Secret("old"))
    plan.checksLastLogin = true
    return plan
  }

  @Test(
    "A fresh credential, printed bare or as JSON, replaces the credentials that were refused.")
  func renewed() throws {
    for printed in ["two words\n", #"{"token":"t"}"#] {
      let renewed = try #require(try plan(.password).renewed(with: printed))
      #expect(renewed.credential.password?.value == (printed.hasPrefix("{") ? "t" : "two words"))
      #expect(renewed.deviceToken == nil && !renewed.checksLastLogin && renewed.isRenewed && renewed.isGiven)
    }
    for printed in ["t", #"{"token":"t","jid":"a@example.org"}"#] {
      #expect(try plan(.jwt).renewed(with: printed)?.credential.token?.token.value == "t")
    }
    #expect(try plan(.password).renewed(with: "") == nil)
    #expect(try plan(.token).renewed(with: "\n") == nil)
    #expect(throws: Failure.self) { try plan(.token).renewed(with: "an error message") }
    #expect(throws: Failure.self) { try plan(.token).renewed(with: #"{"token":"t","jid":"b@example.org"}"#) }
    #expect(try plan(.external).renewed(with: "t") == nil)
  }
}
