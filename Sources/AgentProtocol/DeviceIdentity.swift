/// What the user says of a device, for the other devices of the account.
public struct DeviceIdentity: Codable, Sendable, Equatable {
  /// Characters of each text.
  public static let maximumLength = 256
  public static let platforms = 1...100

  @Nullable public var name: String?
  /// 1…100: what kind of device it is, to those who count devices.
  @Nullable public var platform: Int?
  @Nullable public var ext: String?

  public init(name: String? = nil, platform: Int? = nil, ext: String? = nil) {
    self.name = name
    self.platform = platform
    self.ext = ext
  }

  /// What `other` says in the place of this; an empty text takes one away.
  public func overridden(by other: DeviceIdentity) -> DeviceIdentity {
    func text(_ new: String?, _ old: String?) -> String? { new.map { $0.isEmpty ? nil : $0 } ?? old }
    return DeviceIdentity(
      name: text(other.name, name), platform: other.platform ?? platform, ext: text(other.ext, ext))
  }

  /// Nothing in it is longer or greater than may be, and no text has a control character.
  public var isValid: Bool {
    [name, ext].compactMap(\.self).allSatisfy { text in
      text.unicodeScalars.count <= Self.maximumLength
        && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    } && platform.map(Self.platforms.contains) ?? true
  }
}
