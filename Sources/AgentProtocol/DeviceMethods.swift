/// A device of the account, as `devices list --json` prints it.
public struct Device: Codable, Sendable, Equatable {
  /// Null where the server tells of a device and not of its session.
  @Nullable public var resource: String?
  /// What the device calls its installation; null for the software of others.
  @Nullable public var id: String?
  /// What its user calls it.
  @Nullable public var name: String?
  @Nullable public var model: String?
  /// 1…100: what kind of device it is, to those who count devices.
  @Nullable public var platform: Int?
  @Nullable public var software: String?
  @Nullable public var ext: String?
  public var online: Bool
  /// It is this one.
  public var isSelf: Bool
  /// RFC 3339.
  @Nullable public var lastLogin: String?

  public init(resource: String?, online: Bool, isSelf: Bool = false) {
    self.resource = resource
    self.online = online
    self.isSelf = isSelf
  }

  private enum CodingKeys: String, CodingKey {
    case resource, id, name, model, platform, software, ext, online, lastLogin
    case isSelf = "self"
  }
}

/// The devices of the account: asked on its session, else on a short stream of its own without presence.
public enum DevicesListMethod: AgentMethod {
  public static let name = "devices.list"
  public static let asksServer = true
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Seconds.
    @Default<Seconds<20>> public var timeout: Double
    public init(account: String?, timeout: Double = 20) {
      self.account = account
      self.timeout = timeout
    }
    public func validate() throws(RPCError) { try check(seconds: timeout) }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Those that are online come first.
    public var devices: [Device]
    public init(devices: [Device]) { self.devices = devices }
  }
}

/// Ends sessions of the account's other devices.
public enum DevicesKickMethod: AgentMethod {
  public static let name = "devices.kick"
  public static let asksServer = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// Absent: all but this one.
    public var resource: String?
    /// Bare JID of somebody else, whose sessions the account ends as an administrator of the server.
    public var of: String?
    /// Becomes the account's password before anybody is kicked, so that nobody comes back with the old one.
    public var newPassword: String?
    /// The command that printed `newPassword`: it takes the place of a stored one.
    public var newPasswordCommand: String?
    /// Seconds.
    @Default<Seconds<30>> public var timeout: Double
    public init(account: String?, resource: String?, timeout: Double = 30) {
      self.account = account
      self.resource = resource
      self.timeout = timeout
    }
    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      if resource?.isEmpty == true { throw .invalidParameter("resource") }
      guard let newPassword else { return }
      if newPassword.isEmpty || resource != nil || of != nil { throw .invalidParameter("newPassword") }
    }
  }
  /// What has become of a device.
  public struct Outcome: Codable, Sendable, Equatable {
    public enum State: String, Codable, Sendable {
      case kicked
      /// It was not there.
      case notOnline
      /// The server keeps it.
      case refused
      /// Nobody can tell whether there is something left: see ``left``.
      case unknown
    }
    /// What may be left after all devices were kicked.
    public enum Remainder: String, Codable, Sendable {
      /// Sessions of clients without a device record, which the server does not list.
      case sessions
      /// Tokens that the server gave to clients without a device record, and keeps through a change of the password.
      case tokens
    }
    /// Null where an administrator has ended all sessions of somebody, and with ``State/unknown``.
    @Nullable public var resource: String?
    public var state: State
    /// Why the server keeps it.
    public var error: Failure?
    /// With ``State/unknown``.
    public var left: Remainder?
    public init(resource: String?, state: State, error: Failure? = nil) {
      self.resource = resource
      self.state = state
      self.error = error
    }
    public init(left: Remainder) {
      self.init(resource: nil, state: .unknown)
      self.left = left
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    public var outcomes: [Outcome]
    /// A command is stored that has to print the new password from now on.
    public var usesCommand: Bool
    public init(outcomes: [Outcome], usesCommand: Bool = false) {
      self.outcomes = outcomes
      self.usesCommand = usesCommand
    }
  }
}

/// This device, and what its user calls it.
public enum DevicesSelfMethod: AgentMethod {
  public static let name = "devices.self"
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// From now on; empty: none. Absent: as before.
    public var name: String?
    public init(account: String?, name: String? = nil) {
      self.account = account
      self.name = name
    }
    public func validate() throws(RPCError) {
      if !DeviceIdentity(name: name).isValid { throw .invalidParameter("name") }
    }
  }
  public typealias Result = Device
}

/// Sends a message to another device of the account, and to that one alone.
public enum DevicesSendMethod: SubmissionMethod {
  public static let name = "devices.send"
  public struct Parameters: SubmissionParameters {
    /// Absent: the default account.
    public var account: String?
    public var resource: String
    public var body: String
    /// Of the message; absent: one is made.
    public var id: String?
    /// Seconds.
    @Default<Seconds<30>> public var timeout: Double
    public init(account: String?, resource: String, body: String, timeout: Double = 30) {
      self.account = account
      self.resource = resource
      self.body = body
      self.timeout = timeout
    }
    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      if resource.isEmpty { throw .invalidParameter("resource") }
      guard (1...OutgoingMessage.maximumText).contains(OutgoingMessage.octets(body)) else {
        throw .invalidParameter("body")
      }
      if let id, !(1...OutgoingMessage.maximumID).contains(id.utf8.count) { throw .invalidParameter("id") }
    }
  }
  public typealias Result = MessageSendMethod.Outcome
}
