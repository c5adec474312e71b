import XMPPStanza
import XMPPXML

/// A notice from a device to another one of the account whose session it is about to end.
///
/// No other device receives it, and no server stores it (XEP-0280 §6.2, XEP-0334).
public struct KickNotice: Sendable, Equatable {
  static let namespace = "urn:imctl:kick:0"

  /// The user's name for the sending device.
  public var name: String?
  /// The kind of device, 1…100.
  public var platform: Int?
  public var ext: String?

  public init(name: String?, platform: Int?, ext: String?) {
    self.name = name
    self.platform = platform
    self.ext = ext
  }

  /// Returns nil if the message is not a notice from another device of the account.
  ///
  /// - Parameter own: The own full JID.
  public init?(_ message: Message, own: JID) {
    guard message.type == .headline, let from = message.from, from.bare == own.bare, !from.isBare,
      from != own,
      message.to.map({ $0 == own }) ?? false, let kick = message.first("kick", Self.namespace)
    else { return nil }
    func text(_ name: String) -> String? {
      guard let text = kick.first(name)?.text, !text.isEmpty else { return nil }
      return String(String.UnicodeScalarView(text.unicodeScalars.prefix(DeviceRecord.maximumLength)))
    }
    self.init(
      name: text("name"),
      platform: text("platform").flatMap { Int($0) }.flatMap { (1...100).contains($0) ? $0 : nil },
      ext: text("ext"))
  }

  public func message(to victim: JID) -> Message {
    let parts = [("name", name), ("platform", platform.map(String.init)), ("ext", ext)]
    let kick = XMLElement(
      "kick", namespace: Self.namespace,
      children: parts.compactMap { name, text in
        text.map { XMLElement(name, namespace: Self.namespace, text: $0) }
      })
    return Message(
      type: .headline, to: victim,
      payload: [kick, MessageHints.noStore] + MessageHints.oneCopy)
  }
}
