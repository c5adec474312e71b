/// The user's description of a device, for the other devices of the account.
public struct DeviceIdentity: Codable, Sendable, Equatable {
  /// The maximum length of each text in characters.
  public static let maximumLength = 256
  public static let platforms = 1...100

  @Nullable public var name: String?
  /// The kind of device as a number in 1…100, by which device policies count.
  @Nullable public var platform: Int?
  @Nullable public var ext: String?

  public init(name: String? = nil, platform: Int? = nil, ext: String? = nil) {
    self.name = name
    self.platform = platform
    self.ext = ext
  }

  /// Returns the identity with the fields that `other` sets; an empty text in `other` removes a text.
  public func overridden(by other: DeviceIdentity) -> DeviceIdentity {
    func text(_ new: String?, _ old: String?) -> String? { new.map { $0.isEmpty ? nil : $0 } ?? old }
    return DeviceIdentity(
      name: text(other.name, name), platform: other.platform ?? platform, ext: text(other.ext, ext))
  }

  /// Whether every field is within its limits and no text contains a control character.
  public var isValid: Bool {
    [name, ext].compactMap(\.self).allSatisfy { text in
      text.unicodeScalars.count <= Self.maximumLength
        && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    } && platform.map(Self.platforms.contains) ?? true
  }
}
