import NIOCore
import XMPP
import XMPPStanza
import XMPPXML

/// Asks whether the other side is there, and answers when asked (XEP-0199).
public enum Ping {
  static let name = XMLName("ping", "urn:xmpp:ping")

  /// Answers every ping of type get.
  public static let responder: (XMLName, StreamConfiguration.Responder) = (
    name, { ping in ping.type == .get ? IQ(type: .result, to: ping.from, id: ping.id) : nil }
  )

  /// - Parameter entity: nil stands for the own account.
  public static func request(_ entity: JID? = nil) -> IQ {
    IQ(type: .get, to: entity, payload: [XMLElement(name.local, namespace: name.namespace)])
  }

  /// Returns when the own server has answered; an answer that it knows no ping counts, too.
  public static func send(on stream: some RequestStream, timeout: TimeAmount = .seconds(10))
    async throws(XMPPError)
  {
    _ = try await stream.request(request(), timeout: timeout)
  }
}

extension XMPPStream {
  /// Returns when the server has shown that it is there: by acknowledging (XEP-0198), else by answering a ping.
  ///
  /// - Throws: `networkError` when it does not within `timeout`, or what ended the stream.
  public func probe(timeout: TimeAmount) async throws(XMPPError) {
    if try await requestAcknowledgement(timeout: timeout) { return }
    try await Ping.send(on: self, timeout: timeout)
  }
}
