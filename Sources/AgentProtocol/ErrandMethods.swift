/// The features that a server offers inside TLS before a login, as `login --list-mechanisms --json` prints them.
public enum ServerMechanismsMethod: AgentMethod {
  public static let name = "server.mechanisms"
  public static let asksServer = true
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// A JID or a domain.
    public var address: String
    @Default<ConnectionOptions> public var options: ConnectionOptions
    /// The time limit in seconds; 0: none.
    public var timeout: Double
    public init(address: String, options: ConnectionOptions, timeout: Double) {
      self.address = address
      self.timeout = timeout
      self.options = options
    }
    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      try options.validate()
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    public var domain: String
    /// The SASL mechanisms (RFC 6120 §6), in the server's order.
    public var sasl: [String]
    /// The SASL2 mechanisms (XEP-0388); null if the server lacks SASL2.
    @Nullable public var sasl2: [String]?
    /// The channel bindings for `-PLUS` mechanisms (XEP-0440); null if the server does not list them.
    @Nullable public var channelBindings: [String]?
    /// The mechanisms for logins with a token of the server (XEP-0484).
    public var fast: [String]
    /// Whether a resource can be bound as part of the login (XEP-0386).
    public var bind2: Bool
    /// Whether an account can be registered (XEP-0077).
    public var registration: Bool
    public init(domain: String, sasl: [String], fast: [String], bind2: Bool, registration: Bool) {
      self.domain = domain
      self.sasl = sasl
      self.fast = fast
      self.bind2 = bind2
      self.registration = registration
    }
  }
}

/// Fails for connection options with which no stream could be opened, so that no secret is asked for in vain.
public enum ConnectionCheckMethod: AgentMethod {
  public static let name = "connection.check"
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  public typealias Parameters = ConnectionOptions
  public typealias Result = EmptyObject
}

/// Registers an account at a server with open registration (XEP-0077), and stores its JID and connection options.
public enum AccountRegisterMethod: AgentMethod {
  public static let name = "account.register"
  public static let asksServer = true
  public struct Parameters: MethodParameters {
    public var account: String
    public var password: String
    /// Answers to the server's further questions, by field name.
    public var answers: [String: [String]]
    /// Whether required fields without an answer may be asked for with an ``AgentNotice``.
    public var asks: Bool
    @Default<ConnectionOptions> public var options: ConnectionOptions
    /// The time limit in seconds; 0: none.
    public var timeout: Double
    public init(account: String, password: String, answers: [String: [String]], asks: Bool, timeout: Double) {
      self.account = account
      self.password = password
      self.answers = answers
      self.asks = asks
      self.timeout = timeout
    }
    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      try options.validate()
    }
  }
  public struct Result: Codable, Sendable, Equatable {
    /// Bare JID.
    public var account: String
    public init(account: String) { self.account = account }
  }
}

/// Sends messages on a short stream, without a session and without presence. Nothing is stored. Each result is sent as
/// an item of type ``MessageSendMethod/Outcome``.
public enum MessageSendDirectlyMethod: AgentMethod {
  public static let name = "message.sendDirectly"
  public static let asksServer = true
  public struct Parameters: OwnStreamParameters {
    /// Absent: the default account.
    public var account: String?
    /// Absent: the stored credentials.
    public var currentPassword: String?
    /// Absent options have their stored value.
    @Default<ConnectionOptions> public var options: ConnectionOptions
    public var messages: [OutgoingMessage]
    public var asksReceipts: Bool
    /// Whether the request waits for receipts of the recipients, within `timeout`.
    public var awaitsReceipts: Bool
    /// The time limit in seconds; 0: none.
    public var timeout: Double
    public init(
      account: String?, messages: [OutgoingMessage], asksReceipts: Bool, awaitsReceipts: Bool, timeout: Double
    ) {
      self.account = account
      self.messages = messages
      self.asksReceipts = asksReceipts
      self.awaitsReceipts = awaitsReceipts
      self.timeout = timeout
    }
    public func validate() throws(RPCError) {
      try check(seconds: timeout)
      try options.validate()
    }
  }
  public typealias Result = EmptyObject
}

/// The devices of an account that need not be logged in or stored. Stored data does not change.
public enum UserDevicesListMethod: AgentMethod {
  public static let name = "user.devices.list"
  public static let asksServer = true
  public static let mayBeAbandoned = true
  public static let isIdempotent = true
  /// The login parameters; their `timeout` applies to the whole request.
  public typealias Parameters = LoginMethod.Parameters
  public typealias Result = DevicesListMethod.Result
}

/// Ends sessions of an account that need not be logged in or stored. Stored data does not change.
public enum UserDevicesKickMethod: AgentMethod {
  public static let name = "user.devices.kick"
  public static let asksServer = true
  public struct Parameters: MethodParameters {
    /// The login parameters; their `timeout` applies to the whole request.
    public var login: LoginMethod.Parameters
    /// Absent: all resources.
    public var resource: String?
    /// The new password, which is set before any session is ended.
    public var newPassword: String?
    public init(login: LoginMethod.Parameters, resource: String?, newPassword: String?) {
      self.login = login
      self.resource = resource
      self.newPassword = newPassword
    }
    public func validate() throws(RPCError) { try login.validate() }
  }
  public typealias Result = DevicesKickMethod.Result
}
