import XMPPStanza
import XMPPXML

/// The description of a device for the account's other devices: an item in a private node, whose id is that of the
/// installation.
public struct DeviceRecord: Sendable, Equatable {
  static let namespace = Namespaces.devices
  /// The private node, which only the account can access.
  public static let node = PrivateNode(namespace)
  /// The maximum length of each text in characters.
  static let maximumLength = 256

  /// The id of the installation.
  public var id: String
  /// The user's name for the device.
  public var name: String?
  public var model: String?
  /// The kind of device, 1…100.
  public var platform: Int?
  public var software: String?
  public var resource: String?
  public var ext: String?
  /// RFC 3339, UTC.
  public var lastLogin: String?

  public init(id: String) { self.id = id }

  /// Returns nil if the item is not a device.
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
