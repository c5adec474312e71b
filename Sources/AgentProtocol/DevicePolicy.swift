/// The devices of the account that may be online at the same time. The device that logs in last ends the sessions of
/// others as the policy requires; every device with imctl obeys the policy.
public struct DevicePolicy: Codable, Sendable, Equatable {
  public enum Rule: String, Codable, Sendable, CaseIterable {
    case all
    /// A login ends the sessions of other devices of the same platform.
    case onePerPlatform = "one-per-platform"
    /// A login ends the sessions of all other devices.
    case single
  }

  /// The condition for an automatic login of a device.
  public enum Check: String, Codable, Sendable, CaseIterable {
    /// The device has a token of the server, if the server issues tokens.
    case token
    /// As ``token``; in addition, the device was the last to log in, according to the records of all devices.
    case last
  }

  /// The allowed limits: numbers of devices per platform.
  public static let limits = 0...4

  public var rule: Rule
  /// The number of devices that may be online, by platform. The session with the oldest login ends first; with 0, no
  /// device of the platform may log in.
  public var limits: [Int: Int]
  /// Absent: ``Check/token``.
  public var check: Check?

  public init(_ rule: Rule = .all, limits: [Int: Int] = [:], check: Check? = nil) {
    self.rule = rule
    self.limits = limits
    self.check = check
  }

  /// Whether the policy may end sessions of other devices.
  public var endsOthers: Bool { rule != .all || !limits.isEmpty }

  /// Whether a device of the platform may log in at all.
  public func allows(_ platform: Int?) -> Bool { platform.map { limits[$0] != 0 } ?? true }

  public var isValid: Bool {
    limits.allSatisfy { DeviceIdentity.platforms.contains($0) && Self.limits.contains($1) }
  }

  /// The resources whose sessions end because a device has just logged in. Except with ``Rule/single``, they belong to
  /// devices of the same platform, and the oldest login comes first.
  ///
  /// - Parameters:
  ///   - platform: The platform of the device that has logged in; nil for a device without platform.
  ///   - devices: All devices, including the one that has logged in.
  public func victims(of platform: Int?, among devices: [Device]) -> [String] {
    let others = devices.filter { $0.online && !$0.isSelf && $0.resource != nil }
    if rule == .single { return others.compactMap(\.resource) }
    guard let platform else { return [] }
    let same = others.filter { $0.platform == platform }
      .sorted { ($0.lastLogin ?? "") < ($1.lastLogin ?? "") }
    if rule == .onePerPlatform { return same.compactMap(\.resource) }
    guard let limit = limits[platform] else { return [] }
    return same.prefix(max(0, same.count + 1 - limit)).compactMap(\.resource)
  }
}

/// Changes which devices of the account may be online at the same time, beginning with the next login of a device. The
/// policy is published for all devices, at once or at the next login of this device.
public enum DevicesPolicyMethod: AgentMethod {
  public static let name = "devices.policy"
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Absent: no change.
    public var rule: DevicePolicy.Rule?
    /// Limits by platform. Absent: no change.
    public var limits: [Int: Int]?
    /// Platforms whose limit is removed.
    public var unlimited: [Int]?
    /// Absent: no change.
    public var check: DevicePolicy.Check?
    public init(account: String?) { self.account = account }

    /// Whether the request changes the policy.
    public var isChange: Bool { rule != nil || limits != nil || unlimited != nil || check != nil }

    public func validate() throws(RPCError) {
      let areLimits = (limits ?? [:]).allSatisfy {
        DeviceIdentity.platforms.contains($0) && DevicePolicy.limits.contains($1)
      }
      let arePlatforms = (unlimited ?? []).allSatisfy(DeviceIdentity.platforms.contains)
      if !areLimits || !arePlatforms { throw .invalidParameter("limits") }
    }
  }
  /// The fields of the policy, and whether the policy has been published for the account's other devices.
  public struct Result: Codable, Sendable, Equatable {
    public var policy: DevicePolicy
    /// False: the policy is stored and will be published at the next login.
    public var published: Bool
    /// Why the server did not publish the policy.
    public var cause: Failure?

    public init(_ policy: DevicePolicy, published: Bool, cause: Failure? = nil) {
      self.policy = policy
      self.published = published
      self.cause = cause
    }

    private enum CodingKeys: String, CodingKey { case published, cause }

    public init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        try DevicePolicy(from: decoder), published: try fields.decode(Bool.self, forKey: .published),
        cause: try fields.decodeIfPresent(Failure.self, forKey: .cause))
    }

    public func encode(to encoder: any Encoder) throws {
      try policy.encode(to: encoder)
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(published, forKey: .published)
      try fields.encodeIfPresent(cause, forKey: .cause)
    }
  }
}

extension DevicePolicy {
  /// Returns the policy with the changes of the request.
  public func changed(by change: DevicesPolicyMethod.Parameters) -> DevicePolicy {
    var policy = self
    policy.rule = change.rule ?? rule
    for (platform, limit) in change.limits ?? [:] { policy.limits[platform] = limit }
    for platform in change.unlimited ?? [] { policy.limits[platform] = nil }
    if let check = change.check { policy.check = check == .token ? nil : check }
    return policy
  }
}
