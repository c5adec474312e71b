import AgentProtocol
import AgentStore
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza
import XMPPTransport

/// Everything a login needs, made of what was given now and what is stored: pure.
package struct LoginPlan: Sendable, Equatable {
  package var account: JID
  package var credential: LoginCredential
  /// The credential came from the user just now, not from the store.
  package var isGiven: Bool
  /// The server's token for this device, and the keys of earlier logins: only where nothing was given.
  package var deviceToken: DeviceToken?
  package var scramKeys: [SCRAMKeys] = []
  /// Stands for this installation.
  package var deviceId: String?
  /// What the other devices are told of this one.
  package var device = DeviceIdentity()
  /// Which other devices may stay, as it was known when the login began.
  package var devicePolicy = DevicePolicy()
  /// That was changed on this device, and nobody else knows of it: what the others have published is older.
  package var hasUnpublishedPolicy = false
  /// Another device that has logged in since this one did ends the login.
  package var checksLastLogin = false
  /// When this device logged in, as the others were told (RFC 3339); nil: it never has.
  package var lastLogin: String?
  /// nil: as the account has it.
  package var store: StorePolicy?
  /// The user has said with this login what is to be stored.
  package var isStoreChosen = false
  package var options: ConnectionOptions
  /// How often what failed is tried again; nil: without end.
  package var maxRetries: Int?
  /// What follows on a kick.
  package var onKick = OnKick.stop
  /// Prints a fresh secret where the stored one is refused.
  package var onAuthFailure: String?
  /// The secret came from that command: it is not asked again.
  package var isRenewed = false
  /// Shows the desired presence when online.
  package var sendsPresence = true
  /// What is known of the server.
  package var server: KnownServer?
  /// How much the server objected to being answered before it asked, in this login.
  package var objections = 0
  /// What the token command has printed just now.
  package var tokenAnswer: String?
  /// The last answer of the token command was refused: another one is asked for, once.
  package var needsFreshToken = false
  /// The token that was refused in this login: it is not tried again.
  package var refused: Refusal?
  /// What ``deviceToken`` would be, had it not expired.
  package var expiredToken: DeviceToken?
  /// The server takes no token for a password, but as a bearer's.
  var usesBearer = false

  package struct Refusal: Sendable, Equatable {
    package var token: Secret
    package var failure: Failure
  }

  private let access: ServerAccess

  /// - Throws: `invalidParameter` naming the option that is wrong.
  package init(
    account: JID, credential: LoginCredential, isGiven: Bool, store: StorePolicy?, options: ConnectionOptions
  ) throws(Failure) {
    self.account = account.bare
    self.credential = credential
    self.isGiven = isGiven
    self.store = store
    self.options = options
    access = try ServerAccess(options)
    self.options.resource = options.resource ?? account.resource
    switch (credential.kind, account.local) {
    case (.anonymous, .some):
      throw Self.invalid(.login(.onlyDomain, account.domain))
    case (.anonymous, nil), (_, .some): break
    case (_, nil): throw Self.invalid(.login(.noLocalPart, account))
    }
    if let name = credential.kind.refusedPolicy(store) {
      throw Self.invalid(.login(.refusedPolicy, name.rawValue, credential.kind.rawValue))
    }
    if let loginExt = credential.loginExt { try Self.check(loginExtension: loginExt) }
    if let resource = self.options.resource {
      do { _ = try self.account.with(resource: resource) } catch { throw Self.invalid(FailureDetail(error)) }
    }
  }

  /// - Throws: `tooManyDevices` where no device of this one's platform is to log in.
  package func checkDevicePolicy() throws(Failure) {
    guard let platform = device.platform, !devicePolicy.allows(platform) else { return }
    throw Failure(
      .tooManyDevices, stage: .input,
      detail: .login(.platformRefused, platform))
  }

  /// The stream for one attempt of this plan.
  package func configuration(
    presenting presented: ResolvedCredentials, timeout: TimeAmount, language: String
  ) -> StreamConfiguration {
    var configuration = StreamConfiguration(
      account: account, credentials: credentials(presenting: presented), resource: options.resource)
    access.apply(to: &configuration)
    configuration.clientCertificate = clientCertificate
    configuration.timeout = timeout
    configuration.pipelining =
      isStepByStep ? .stepByStep : server?.pipelining ?? .ofUnknownServer
    configuration.pipelinedTarget = server?.target
    configuration.policy = policy
    configuration.userAgent = userAgent
    configuration.language = language
    configuration.responders = Dictionary(
      uniqueKeysWithValues: [Ping.responder, Roster.responder(own: account)]
        + BlockList.responders(own: account))
    return configuration
  }

  /// The server does not like to be answered before it asked.
  package var isStepByStep: Bool { KnownServer.isStepByStep((server?.objections ?? 0) + objections) }

  /// What is stored of the account beside its credential. Where a secret was given it is proved by itself.
  ///
  /// - Parameter now: seconds since 1970.
  package mutating func apply(_ stored: Account, at now: Double) {
    server = stored.server
    deviceId = stored.deviceId
    device = stored.device ?? DeviceIdentity()
    devicePolicy = stored.devicePolicy ?? DevicePolicy()
    hasUnpublishedPolicy = stored.hasUnpublishedPolicy == true
    maxRetries = stored.maxRetries
    onKick = stored.onKick ?? .stop
    onAuthFailure = stored.onAuthFailure
    lastLogin = stored.lastLogin
    if let offered = server?.offer?.sasl.mechanisms { usesBearer = wantsBearer(offered: offered) }
    if isGiven { return }
    let isExpired = stored.token?.isExpired(at: now) == true
    deviceToken = isExpired ? nil : stored.token
    expiredToken = isExpired ? stored.token : nil
    scramKeys = stored.scramKeys
  }

  /// What is kept where the user does not say it with this login: what was kept before, as far as the credential
  /// allows it.
  ///
  /// - Parameters:
  ///   - stored: nil where nothing is stored yet.
  ///   - isGiven: as ``isGiven``.
  package static func usualPolicy(
    _ stored: StorePolicy?, for credential: LoginCredential, isGiven: Bool
  ) -> StorePolicy? {
    guard isGiven else { return stored }
    if credential.passwordCommand != nil, stored ?? .password == .password { return .command }
    guard let stored, credential.kind.refusedPolicy(stored) == nil else { return .password }
    let hasCommand = (credential.passwordCommand ?? credential.tokenCommand) != nil
    return stored == .command && !hasCommand ? .password : stored
  }

  /// There is something to log in with, be it expired.
  package var hasCredential: Bool {
    credential.isUsable || !scramKeys.isEmpty || deviceToken != nil || expiredToken != nil
  }

  /// Whether a session of another plan has to make way for this one.
  package func differs(from running: LoginPlan) -> Bool {
    !credential.isSame(as: running.credential) || options != running.options
  }

  /// Throws `invalidParameter` for a login extension of more than 1024 UTF-16 units.
  package static func check(loginExtension text: String) throws(Failure) {
    let length = text.utf16.count
    if length > LoginMethod.maximumExtension {
      throw invalid(.login(.extensionTooLong, length))
    }
  }

  package static func invalid(_ detail: FailureDetail) -> Failure {
    Failure(.invalidParameter, stage: .input, detail: detail)
  }
}

extension ConnectionOptions {
  /// These options with the given ones of `other` in their place. A new host has a port of its own, and of CA file
  /// and pinned certificate the new one counts alone.
  package func overridden(by other: ConnectionOptions) -> ConnectionOptions {
    var options = self
    if let host = other.host, host != self.host {
      options.host = host
      options.port = nil
    }
    options.port = other.port ?? options.port
    options.tls = other.tls ?? tls
    if other.caFile != nil || other.certSHA256 != nil {
      options.caFile = other.caFile
      options.certSHA256 = other.certSHA256
    }
    options.resource = other.resource ?? resource
    return options.withProxy(of: other)
  }
}

extension Failure {
  /// The same failure in the agent's words: both sides use the names of one table.
  package init(_ error: XMPPError) {
    self.init(
      Name(rawValue: error.code.rawValue), stage: Stage(rawValue: error.stage.rawValue) ?? .request,
      detail: error.condition == nil ? FailureDetail(error.reason) : nil, condition: error.condition,
      text: error.text)
  }
}

extension FailureDetail {
  /// What an error of a connection or a stream says: a sentence that is not known here is a text.
  package init(_ reason: ErrorReason) {
    if let key = reason.key.flatMap(Key.init(name:)) {
      self = .sentence(key, reason.arguments.map { FailureDetail($0) })
    } else {
      self = .text(reason.description)
    }
  }
}

extension ErrorReason {
  /// The same detail for an error of a stream.
  init(_ detail: FailureDetail) {
    if case .sentence(let key, let arguments) = detail {
      self.init(
        key: key.name, arguments: arguments.map { ErrorReason($0) }, description: detail.text(.english))
    } else {
      self.init(text: detail.text(.english))
    }
  }
}
