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
    _ mechanism: SASLMechanismName, offered: [SASLMechanismName], objections: Int = 0
  ) throws -> KnownServer {
    let features = StreamFeatures(XMLElement("features", namespace: Namespaces.streams))
    let bound = BoundStream(
      jid: try JID("a@example.org/x"),
      target: ServerTarget(host: "im.example.org", port: 5222, tls: .startTLS),
      mechanism: mechanism, features: features)
    var known = KnownServer(bound, offered: offered, before: nil)
    known.objections = objections
    return known
  }

  @Test("What is anticipated is the strongest mechanism offered, and never PLAIN.")
  func anticipation() throws {
    let scram = try server(.scramSHA1, offered: [.plain, .scramSHA1, .scramSHA256])
    #expect(scram.anticipation == Anticipation(startTLS: true, mechanism: .scramSHA256, binding: true))
    let plain = try server(.plain, offered: [.plain])
    #expect(plain.anticipation == Anticipation(startTLS: true, mechanism: nil, binding: true))
    let slow = try server(.scramSHA1, offered: [.scramSHA1], objections: 2)
    #expect(slow.anticipation == .stepByStep)
  }

  @Test("A server that had SCRAM does not get the password any more; its hash may change.")
  func pin() throws {
    #expect(try server(.scramSHA512, offered: [.scramSHA512, .plain]).policy.pinned == .scramSHA1)
    #expect(try server(.plain, offered: [.plain]).policy.pinned == nil)
  }

  @Test("A refused password, a certificate or a server without its proof is not tried again step by step.")
  func fallback() throws {
    var known = try server(.scramSHA1, offered: [.scramSHA1])
    for (name, stage) in [
      (Failure.Name.authFailed, Failure.Stage.authenticate), (.tlsFailure, .tls),
      (.connectionRefused, .connect),
      (.userBlocked, .authenticate), (.unknownDomain, .stream), (.connectTimeout, .stream),
      (.protocolError, .tls), (.protocolError, .authenticate), (.rateLimited, .stream), (.cancelled, .stream),
    ] {
      let objects = known.objects(with: Failure(name, stage: stage))
      #expect(!objects, "\(name)")
    }
    #expect(known.objections == 0)
  }

  @Test("An error of the server is remembered at once, a lost connection when it happens again.")
  func objections() throws {
    var known = try server(.scramSHA1, offered: [.scramSHA1])
    let isLost = known.objects(with: Failure(.networkError, stage: .bind))
    #expect(isLost && !known.isStepByStep)
    let isLostAgain = known.objects(with: Failure(.networkError, stage: .stream))
    #expect(isLostAgain && known.isStepByStep)
    known.objections = 0
    let isRefused = known.objects(with: Failure(.protocolError, stage: .stream))
    #expect(isRefused && known.isStepByStep)
  }

  @Test("It reads back as it was stored.")
  func stored() throws {
    let known = try server(.scramSHA1, offered: [.scramSHA1], objections: 2)
    #expect(known.target == ServerTarget(host: "im.example.org", port: 5222, tls: .startTLS))
    var account = Account(account: "a@example.org", domain: "example.org")
    account.loggedIn(password: Secret("p"), server: known)
    account.loggedOut()
    #expect(account.server == known)
  }
}
