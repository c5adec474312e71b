/// A device of the account, as `devices list --json` prints it.
public struct Device: Codable, Sendable, Equatable {
  /// Null if the server lists the device without its session.
  @Nullable public var resource: String?
  /// The id of imctl's installation on the device; null for other software.
  @Nullable public var id: String?
  /// The user's name for the device.
  @Nullable public var name: String?
  @Nullable public var model: String?
  /// The kind of device as a number in 1…100, by which device policies count.
  @Nullable public var platform: Int?
  @Nullable public var software: String?
  @Nullable public var ext: String?
  public var online: Bool
  /// Whether this is the device of this agent.
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

/// The devices of the account, requested on its session or, without one, on a short stream without presence.
public enum DevicesListMethod: AgentMethod {
  public static let name = "devices.list"
  public static let asksServer = true
  public static let mayBeAbandoned = true
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
    /// The online devices come first.
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
    /// Absent: all devices but this one.
    public var resource: String?
    /// The bare JID of another account whose sessions are ended; the own account must be an administrator of the
    /// server.
    public var of: String?
    /// The new password, which is set before any session is ended, so that the old one no longer logs in.
    public var newPassword: String?
    /// The command that printed `newPassword`; it replaces a stored command.
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
  /// The outcome for one device.
  public struct Outcome: Codable, Sendable, Equatable {
    public enum State: String, Codable, Sendable {
      case kicked
      /// The device was not online.
      case notOnline
      /// The server refused to end the session.
      case refused
      /// It is unknown whether there are more sessions or tokens: see ``left``.
      case unknown
    }
    /// What may still exist after all known devices were kicked.
    public enum Remainder: String, Codable, Sendable {
      /// Sessions of clients without a device record, which the server does not list.
      case sessions
      /// Tokens of clients without a device record, which the server keeps when the password changes.
      case tokens
    }
    /// Null if an administrator ended all sessions of another account, and with ``State/unknown``.
    @Nullable public var resource: String?
    public var state: State
    /// Why the server refused.
    public var error: Failure?
    /// What may still exist, with ``State/unknown``.
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
    /// Whether a command is stored, which has to print the new password from now on.
    public var usesCommand: Bool
    public init(outcomes: [Outcome], usesCommand: Bool = false) {
      self.outcomes = outcomes
      self.usesCommand = usesCommand
    }
  }
}

/// This device, and the user's name for it.
public enum DevicesSelfMethod: AgentMethod {
  public static let name = "devices.self"
  public static let isIdempotent = true
  public struct Parameters: AccountParameters {
    /// Absent: the default account.
    public var account: String?
    /// The new name; empty: no name. Absent: no change.
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

/// Sends a message to exactly one other device of the account.
public enum DevicesSendMethod: SubmissionMethod {
  public static let name = "devices.send"
  public struct Parameters: SubmissionParameters {
    /// Absent: the default account.
    public var account: String?
    public var resource: String
    public var body: String
    /// The id of the message; absent: a new one is generated.
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
