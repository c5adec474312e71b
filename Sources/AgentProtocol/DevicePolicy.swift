/// Which devices of the account may be online at a time, as the one that logs in last sees to it. Every device of imctl
/// obeys it.
public struct DevicePolicy: Codable, Sendable, Equatable {
  public enum Rule: String, Codable, Sendable, CaseIterable {
    case all
    /// The other devices of its platform make way.
    case onePerPlatform = "one-per-platform"
    /// All others make way.
    case single
  }

  /// What a device that logs in by itself must be.
  public enum Check: String, Codable, Sendable, CaseIterable {
    /// One that the server gave a token to, where it gives them.
    case token
    /// The one that logged in last, by what the devices tell each other, too.
    case last
  }

  /// Devices of a platform at most that a limit may be.
  public static let limits = 0...4

  public var rule: Rule
  /// Devices that may be online, by platform; the one that logged in first makes way. With 0 none logs in.
  public var limits: [Int: Int]
  /// Absent: ``Check/token``.
  public var check: Check?

  public init(_ rule: Rule = .all, limits: [Int: Int] = [:], check: Check? = nil) {
    self.rule = rule
    self.limits = limits
    self.check = check
  }

  /// Other devices may have to make way.
  public var endsOthers: Bool { rule != .all || !limits.isEmpty }

  /// Whether a device of the platform may log in at all.
  public func allows(_ platform: Int?) -> Bool { platform.map { limits[$0] != 0 } ?? true }

  public var isValid: Bool {
    limits.allSatisfy { DeviceIdentity.platforms.contains($0) && Self.limits.contains($1) }
  }

  /// Resources of those that make way for the one that has just logged in, the oldest first; never of another platform
  /// than its own, but for ``Rule/single``.
  ///
  /// - Parameters:
  ///   - platform: of the one that has logged in; one that names none is of no platform.
  ///   - devices: all, it among them.
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

/// Which devices of the account may be online at a time, from the next login of a device on. It is published for all of
/// them, at once or at the next login here.
public enum DevicesPolicyMethod: AgentMethod {
  public static let name = "devices.policy"
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Absent: as before.
    public var rule: DevicePolicy.Rule?
    /// A limit by platform. Absent: as before.
    public var limits: [Int: Int]?
    /// Platforms that are to have no limit any more.
    public var unlimited: [Int]?
    /// Absent: as before.
    public var check: DevicePolicy.Check?
    public init(account: String?) { self.account = account }

    /// Something is to be as it is not now.
    public var isChange: Bool { rule != nil || limits != nil || unlimited != nil || check != nil }

    public func validate() throws(RPCError) {
      let areLimits = (limits ?? [:]).allSatisfy {
        DeviceIdentity.platforms.contains($0) && DevicePolicy.limits.contains($1)
      }
      let arePlatforms = (unlimited ?? []).allSatisfy(DeviceIdentity.platforms.contains)
      if !areLimits || !arePlatforms { throw .invalidParameter("limits") }
    }
  }
  /// The policy's fields, and whether the account's other devices can know of it.
  public struct Result: Codable, Sendable, Equatable {
    public var policy: DevicePolicy
    /// False: it is stored, and published at the next login.
    public var published: Bool
    /// Why the server, which was asked, did not publish it.
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
  /// What `change` says in the place of this.
  public func changed(by change: DevicesPolicyMethod.Parameters) -> DevicePolicy {
    var policy = self
    policy.rule = change.rule ?? rule
    for (platform, limit) in change.limits ?? [:] { policy.limits[platform] = limit }
    for platform in change.unlimited ?? [] { policy.limits[platform] = nil }
    if let check = change.check { policy.check = check == .token ? nil : check }
    return policy
  }
}
