/// What a server offers inside TLS to whoever is not logged in, as `login --list-mechanisms --json` prints it.
public enum ServerMechanismsMethod: AgentMethod {
  public static let name = "server.mechanisms"
  public static let asksServer = true
  public static let isQuestion = true
  public static let isIdempotent = true
  public struct Parameters: MethodParameters {
    /// A JID or a domain.
    public var address: String
    @Default<ConnectionOptions> public var options: ConnectionOptions
    /// Seconds, 0 for no bound.
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
    /// SASL (RFC 6120 §6), in the server's order.
    public var sasl: [String]
    /// The mechanisms of SASL2 (XEP-0388); null where the server does not have it.
    @Nullable public var sasl2: [String]?
    /// What `-PLUS` mechanisms can bind to (XEP-0440); null where the server does not say.
    @Nullable public var channelBindings: [String]?
    /// What a token of the server serves for (XEP-0484).
    public var fast: [String]
    /// A resource can be bound with the login (XEP-0386).
    public var bind2: Bool
    /// Anybody may make an account (XEP-0077).
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

/// Fails for connection options with which no stream could be opened, before anybody is asked for a secret.
public enum ConnectionCheckMethod: AgentMethod {
  public static let name = "connection.check"
  public static let isQuestion = true
  public static let isIdempotent = true
  public typealias Parameters = ConnectionOptions
  public typealias Result = Nothing
}

/// Makes an account at a server that lets anybody do so (XEP-0077), and keeps its JID and connection options.
public enum AccountRegisterMethod: AgentMethod {
  public static let name = "account.register"
  public static let asksServer = true
  public struct Parameters: MethodParameters {
    public var account: String
    public var password: String
    /// To the server's further questions, by field name.
    public var answers: [String: [String]]
    /// Somebody can be asked what is required and has no answer: with an ``AgentNotice``.
    public var asks: Bool
    @Default<ConnectionOptions> public var options: ConnectionOptions
    /// Seconds, 0 for no bound.
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

/// Sends messages on a short stream of its own, without a session and without presence. Nothing is stored of them. Each
/// outcome is told as an item, a ``MessageSendMethod/Outcome``.
public enum MessageSendDirectlyMethod: AgentMethod {
  public static let name = "message.sendDirectly"
  public static let asksServer = true
  public struct Parameters: OwnStreamParameters {
    /// Absent: the default account.
    public var account: String?
    /// Absent: what is stored.
    public var currentPassword: String?
    /// Only the options given now; absent ones have their stored value.
    @Default<ConnectionOptions> public var options: ConnectionOptions
    public var messages: [OutgoingMessage]
    public var asksReceipts: Bool
    /// Clients of the recipients are waited for, within `timeout`.
    public var awaitsReceipts: Bool
    /// Seconds, 0 for no bound.
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
  public typealias Result = Nothing
}

/// The devices of an account that need not be logged in, nor stored: what is stored stays as it is.
public enum UserDevicesListMethod: AgentMethod {
  public static let name = "user.devices.list"
  public static let asksServer = true
  public static let isQuestion = true
  public static let isIdempotent = true
  /// How to log in; its `timeout` is that of the whole request.
  public typealias Parameters = LoginMethod.Parameters
  public typealias Result = DevicesListMethod.Result
}

/// Ends sessions of an account that need not be logged in, nor stored: what is stored stays as it is.
public enum UserDevicesKickMethod: AgentMethod {
  public static let name = "user.devices.kick"
  public static let asksServer = true
  public struct Parameters: MethodParameters {
    /// How to log in; its `timeout` is that of the whole request.
    public var login: LoginMethod.Parameters
    /// Absent: all.
    public var resource: String?
    /// Becomes the account's password before anybody is kicked.
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
