import XMPPStanza
import XMPPXML

/// What a device of the account tells the others of itself, in a private node: an item whose id is that of the
/// installation.
public struct DeviceRecord: Sendable, Equatable {
  static let namespace = Namespaces.devices
  /// Only the account sees it.
  public static let node = PrivateNode(namespace)
  /// Characters that are kept of each text.
  static let maximumLength = 256

  /// The installation.
  public var id: String
  /// What the user calls the device.
  public var name: String?
  public var model: String?
  /// 1…100.
  public var platform: Int?
  public var software: String?
  public var resource: String?
  public var ext: String?
  /// RFC 3339, UTC.
  public var lastLogin: String?

  public init(id: String) { self.id = id }

  /// Nil for what is no device.
  public init?(_ item: PubSub.Item) {
    guard let element = item.payload, element.name == XMLName("device", Self.namespace) else { return nil }
    func text(_ name: String) -> String? {
      guard let text = element.first(name)?.text, !text.isEmpty else { return nil }
      return String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.maximumLength)))
    }
    id = item.id
    name = text("name")
    model = text("model")
    platform = text("platform").flatMap { Int($0) }.flatMap { (1...100).contains($0) ? $0 : nil }
    software = text("software")
    resource = text("resource")
    ext = text("ext")
    lastLogin = text("last-login")
  }

  public var item: PubSub.Item {
    let parts = [
      ("name", name), ("model", model), ("platform", platform.map(String.init)), ("software", software),
      ("resource", resource), ("ext", ext), ("last-login", lastLogin),
    ]
    return PubSub.Item(
      id,
      XMLElement(
        "device", namespace: Self.namespace,
        children: parts.compactMap { name, text in
          text.map { XMLElement(name, namespace: Self.namespace, text: $0) }
        }))
  }
}
