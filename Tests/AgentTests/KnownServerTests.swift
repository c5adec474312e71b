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
    _ mechanism: SASLMechanismName, offered: [SASLMechanismName], isStepByStep: Bool = false
  ) throws -> KnownServer {
    let features = StreamFeatures(XMLElement("features", namespace: Namespaces.streams))
    let bound = BoundStream(
      jid: try JID("a@example.org/x"),
      target: ServerTarget(host: "im.example.org", port: 5222, tls: .startTLS),
      mechanism: mechanism, features: features)
    return KnownServer(bound, offered: offered, isStepByStep: isStepByStep)
  }

  @Test("What is anticipated is the strongest mechanism offered, and never PLAIN.")
  func anticipation() throws {
    let scram = try server(.scramSHA1, offered: [.plain, .scramSHA1, .scramSHA256])
    #expect(scram.anticipation == Anticipation(startTLS: true, mechanism: .scramSHA256, binding: true))
    let plain = try server(.plain, offered: [.plain])
    #expect(plain.anticipation == Anticipation(startTLS: true, mechanism: nil, binding: true))
    let slow = try server(.scramSHA1, offered: [.scramSHA1], isStepByStep: true)
    #expect(slow.anticipation == .stepByStep)
  }

  @Test("A server that had SCRAM does not get the password any more; its hash may change.")
  func pin() throws {
    #expect(try server(.scramSHA512, offered: [.scramSHA512, .plain]).policy.pinned == .scramSHA1)
    #expect(try server(.plain, offered: [.plain]).policy.pinned == nil)
  }

  @Test("A refused password or certificate is not tried again step by step.")
  func fallback() {
    for (name, stage) in [
      (Failure.Name.authFailed, Failure.Stage.authenticate), (.tlsFailure, .tls),
      (.connectionRefused, .connect),
      (.userBlocked, .authenticate), (.unknownDomain, .stream), (.connectTimeout, .stream),
      (.protocolError, .tls), (.cancelled, .stream),
    ] {
      #expect(!KnownServer.mayDislikeAnticipation(Failure(name, stage: stage)), "\(name)")
    }
    #expect(KnownServer.mayDislikeAnticipation(Failure(.protocolError, stage: .stream)))
    #expect(KnownServer.mayDislikeAnticipation(Failure(.networkError, stage: .bind)))
    #expect(KnownServer.mayDislikeAnticipation(Failure(.downgrade, stage: .authenticate)))
  }

  @Test("It reads back as it was stored.")
  func stored() throws {
    let known = try server(.scramSHA1, offered: [.scramSHA1], isStepByStep: true)
    #expect(known.target == ServerTarget(host: "im.example.org", port: 5222, tls: .startTLS))
    var account = Account(account: "a@example.org", domain: "example.org")
    account.loggedIn(password: Secret("p"), server: known)
    account.loggedOut()
    #expect(account.server == known)
  }
}
