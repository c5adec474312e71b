import XMPPStanza
import XMPPXML

/// The account's device policy: which devices may be online at the same time. It is an item beside those of the devices
/// in the same private node.
public struct DevicePolicyRecord: Sendable, Equatable {
  /// The id of the item, which no installation has.
  public static let id = "policy"
  /// The valid platforms and limits; the maximum length of a text in octets.
  static let platforms = 1...100
  static let limits = 0...4
  static let maximumLength = 64

  /// The rule for the other devices when one logs in.
  public var rule: String
  /// The condition for an automatic login of a device.
  public var check: String?
  /// The number of devices that may be online, by platform.
  public var limits: [Int: Int]

  public init(rule: String, check: String? = nil, limits: [Int: Int] = [:]) {
    self.rule = rule
    self.check = check
    self.limits = limits
  }

  /// Returns nil if the item is not a policy. Limits outside the valid range are skipped.
  public init?(_ item: PubSub.Item) {
    guard item.id == Self.id, let element = item.payload,
      element.name == XMLName("policy", DeviceRecord.namespace), let rule = element["rule"],
      rule.utf8.count <= Self.maximumLength
    else { return nil }
    self.init(rule: rule, check: element["check"].flatMap { $0.utf8.count <= Self.maximumLength ? $0 : nil })
    for limit in element.elements where limit.name == XMLName("limit", DeviceRecord.namespace) {
      guard let platform = limit["platform"].flatMap({ Int($0) }), Self.platforms.contains(platform),
        let number = Int(limit.text), Self.limits.contains(number)
      else { continue }
      limits[platform] = number
    }
  }

  public var item: PubSub.Item {
    let children = limits.sorted { $0.key < $1.key }.map { platform, number in
      XMLElement(
        "limit", namespace: DeviceRecord.namespace, attributes: ["platform": String(platform)],
        text: String(number))
    }
    return PubSub.Item(
      Self.id,
      XMLElement(
        "policy", namespace: DeviceRecord.namespace, attributes: ["rule": rule, "check": check],
        children: children))
  }
}
