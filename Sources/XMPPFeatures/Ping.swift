import NIOCore
import XMPP
import XMPPStanza
import XMPPXML

/// Checks whether another entity responds, and answers such checks (XEP-0199).
public enum Ping {
  static let name = XMLName("ping", "urn:xmpp:ping")

  /// Answers every ping of the type `get`.
  public static let responder: (XMLName, StreamConfiguration.Responder) = (
    name, { ping in ping.type == .get ? IQ(type: .result, to: ping.from, id: ping.id) : nil }
  )

  /// - Parameter entity: The entity; nil for the own account.
  public static func request(_ entity: JID? = nil) -> IQ {
    IQ(type: .get, to: entity, payload: [XMLElement(name.local, namespace: name.namespace)])
  }

  /// Returns when the account's server has answered. An error answer counts, too.
  public static func send(on stream: some RequestStream, timeout: TimeAmount = .seconds(10))
    async throws(XMPPError)
  {
    _ = try await stream.request(request(), timeout: timeout)
  }
}

extension XMPPStream {
  /// Returns when the server has shown that it is alive, by an acknowledgement (XEP-0198) or the answer to a ping.
  ///
  /// - Throws: `networkError` if it does not respond within `timeout`, or the error that ended the stream.
  public func probe(timeout: TimeAmount) async throws(XMPPError) {
    if try await requestAcknowledgement(timeout: timeout) { return }
    try await Ping.send(on: self, timeout: timeout)
  }
}
