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

  /// Returns when the own server has answered; an answer that it knows no ping counts, too.
  public static func send(on stream: XMPPStream, timeout: TimeAmount = .seconds(10)) async throws(XMPPError) {
    let ping = IQ(type: .get, payload: [XMLElement("ping", namespace: name.namespace)])
    _ = try await stream.request(ping, timeout: timeout)
  }
}
