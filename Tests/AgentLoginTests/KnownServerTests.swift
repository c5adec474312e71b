import AgentProtocol
import FoundationEssentials
import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import AgentLogin
@testable import AgentStore

@Suite struct KnownServerTests {
  private func server(
    _ mechanism: SASLMechanismName, offer: AuthenticationOffer? = nil, before: KnownServer? = nil,
    objections: Int = 0
  ) throws -> KnownServer {
    let features = StreamFeatures(XMLElement("features", namespace: Namespaces.streams))
    let bound = BoundStream(
      jid: try JID("a@example.org/x"),
      target: ServerTarget(host: "im.example.org", port: 5222, tls: .startTLS),
      mechanism: mechanism, features: features)
    return KnownServer(bound, offer: offer, before: before, objections: objections)
  }

  private let offer = AuthenticationOffer(mechanisms: [.plain, .scramSHA1, .scramSHA256])

  @Test("The next login is pipelined according to the server's last offer.")
  func pipelining() throws {
    let known = try server(.scramSHA256, offer: offer)
    #expect(known.pipelining == Pipelining(startTLS: true, offer: offer, binding: true))
  }

  @Test("The strongest mechanism that was used is remembered, and a token mechanism is not.")
  func pin() throws {
    let strong = try server(.scramSHA512)
    #expect(strong.policy.pinned == .scramSHA512)
    #expect(try server(.scramSHA1, before: strong).policy.pinned == .scramSHA512)
    #expect(try server(.htSHA256Exporter, before: strong).policy.pinned == .scramSHA512)
    #expect(try server(.htSHA256Exporter).policy.pinned == nil)
    #expect(try server(.scramSHA512Plus, before: strong).policy.pinned == .scramSHA512Plus)
  }

  @Test("Logins are no longer pipelined after the server has objected to pipelining twice in a row.")
  func objections() throws {
    var plan = try LoginPlan(
      account: JID("a@example.org"), credential: LoginCredential(password: Secret("p")), isGiven: true,
      store: nil, options: .init())
    #expect(!plan.isStepByStep)
    plan.server = try server(.scramSHA1, objections: 1)
    #expect(!plan.isStepByStep)
    plan.server = try server(.scramSHA1, before: plan.server, objections: 1)
    #expect(plan.isStepByStep)
    #expect(
      plan.configuration(presenting: ResolvedCredentials(), timeout: .seconds(1), language: "en").pipelining
        == .stepByStep)
  }

  @Test(
    "A pipelined login that succeeds clears the server's objections, and so does a server at another address."
  )
  func inARow() throws {
    let once = try server(.scramSHA1, objections: 1)
    #expect(try server(.scramSHA1, before: once).objections == 0)
    let known = try server(.scramSHA1, objections: 2)
    #expect(try server(.scramSHA1, before: known).isStepByStep)
    var elsewhere = known
    elsewhere.port = 5223
    #expect(try server(.scramSHA1, before: elsewhere).objections == 0)
  }

  @Test("An offer with an invalid mechanism name is not stored.")
  func absurdOffer() throws {
    var offer = offer
    offer.mechanisms.append(SASLMechanismName(String(repeating: "A", count: 100_000)))
    #expect(try server(.scramSHA1, offer: offer).offer == nil)
  }

  @Test("Damaged fields of a known server are dropped, but a damaged mechanism is an error.")
  func damaged() throws {
    let text =
      #"{"mechanism":"SCRAM-SHA-256","host":"h","port":"x","offer":{"mechanisms":7},"objections":-1.5}"#
    let known = try JSONDecoder().decode(KnownServer.self, from: Data(text.utf8))
    #expect(known.policy.pinned == .scramSHA256)
    #expect(known.offer == nil && known.target == nil)
    #expect(throws: (any Error).self) {
      try JSONDecoder().decode(KnownServer.self, from: Data(#"{"mechanism":7}"#.utf8))
    }
  }

  @Test("A known server is stored with the account and read back unchanged.")
  func stored() throws {
    let known = try server(.scramSHA1, offer: offer, objections: 2)
    #expect(known.target == ServerTarget(host: "im.example.org", port: 5222, tls: .startTLS))
    var account = Account(account: "a@example.org", domain: "example.org")
    account.loggedIn(LoginCredential(password: Secret("p")), server: known)
    account.loggedOut(LogoutMethod.Parameters(account: nil))
    #expect(account.server == known)
  }
}
