import AgentProtocol
import Testing
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPTransport
import XMPPXML

@testable import Agent

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

  @Test("The last offer is anticipated.")
  func anticipation() throws {
    let known = try server(.scramSHA256, offer: offer)
    #expect(known.anticipation == Anticipation(startTLS: true, offer: offer, binding: true))
  }

  @Test("The strongest mechanism that was used is remembered; a token is none of them.")
  func pin() throws {
    let strong = try server(.scramSHA512)
    #expect(strong.policy.pinned == .scramSHA512)
    #expect(try server(.scramSHA1, before: strong).policy.pinned == .scramSHA512)
    #expect(try server(.htSHA256Exporter, before: strong).policy.pinned == .scramSHA512)
    #expect(try server(.htSHA256Exporter).policy.pinned == nil)
    #expect(try server(.scramSHA512Plus, before: strong).policy.pinned == .scramSHA512Plus)
  }

  @Test("A refused password, a certificate or a server without its proof is not tried again step by step.")
  func fallback() {
    for (name, stage) in [
      (Failure.Name.authFailed, Failure.Stage.authenticate), (.tlsFailure, .tls),
      (.connectionRefused, .connect),
      (.userBlocked, .authenticate), (.unknownDomain, .stream), (.connectTimeout, .stream),
      (.protocolError, .tls), (.protocolError, .authenticate), (.rateLimited, .stream), (.cancelled, .stream),
    ] {
      #expect(KnownServer.objections(in: Failure(name, stage: stage)) == 0, "\(name)")
    }
  }

  @Test("An error of the server is remembered at once, a lost connection when it happens again.")
  func objections() throws {
    #expect(KnownServer.objections(in: Failure(.networkError, stage: .bind)) == 1)
    #expect(KnownServer.objections(in: Failure(.protocolError, stage: .stream)) == 2)
    var plan = try LoginPlan(
      account: JID("a@example.org"), credential: LoginCredential(password: Agent.Secret("p")), isGiven: true,
      store: nil, options: .init())
    #expect(!plan.isStepByStep)
    plan.server = try server(.scramSHA1, objections: 1)
    #expect(!plan.isStepByStep)
    plan.server = try server(.scramSHA1, before: plan.server, objections: 1)
    #expect(plan.isStepByStep)
    #expect(
      plan.configuration(presenting: Presented(), timeout: .seconds(1), language: "en").anticipation
        == .stepByStep)
  }

  @Test("It reads back as it was stored.")
  func stored() throws {
    let known = try server(.scramSHA1, offer: offer, objections: 2)
    #expect(known.target == ServerTarget(host: "im.example.org", port: 5222, tls: .startTLS))
    var account = Account(account: "a@example.org", domain: "example.org")
    account.loggedIn(LoginCredential(password: Agent.Secret("p")), server: known)
    account.loggedOut()
    #expect(account.server == known)
  }
}
