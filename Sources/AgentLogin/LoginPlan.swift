import AgentProtocol
import AgentStore
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza
import XMPPTransport

/// All the data for a login, from the user's input and the store. Pure.
package struct LoginPlan: Sendable, Equatable {
  package var account: JID
  package var credential: LoginCredential
  /// Whether the user gave the credential with this login, so that it is not the stored one.
  package var isGiven: Bool
  /// The server's token for this device, and the keys of earlier logins; only without a given credential.
  package var deviceToken: DeviceToken?
  package var scramKeys: [SCRAMKeys] = []
  /// The ID of this installation.
  package var deviceId: String?
  /// The description of this device for the other devices.
  package var device = DeviceIdentity()
  /// The policy that limits the other devices, as known when the login began.
  package var devicePolicy = DevicePolicy()
  /// Whether the policy was changed on this device and not published, so that the published one is older.
  package var hasUnpublishedPolicy = false
  /// Whether the login fails if another device has logged in since this one did.
  package var checksLastLogin = false
  /// The last login time of this device as published (RFC 3339); nil where it never logged in.
  package var lastLogin: String?
  /// The policy for storing the secret; nil for the account's own.
  package var store: StorePolicy?
  /// Whether the user chose the policy with this login.
  package var isStoreChosen = false
  package var options: ConnectionOptions
  /// The maximum number of retries; nil for no limit.
  package var maxRetries: Int?
  /// The reaction to a kick.
  package var onKick = OnKick.stop
  /// The command that prints a fresh secret when the stored one is refused.
  package var onAuthFailure: String?
  /// Whether the secret came from that command, which is not run again.
  package var isRenewed = false
  /// Whether the desired presence is sent when online.
  package var sendsPresence = true
  /// The known properties of the server.
  package var server: KnownServer?
  /// The server's objections to pipelining during this login.
  package var objections = 0
  /// The output of the token command in this login.
  package var tokenAnswer: String?
  /// Whether the last answer of the token command was refused, so that the command is run again, once.
  package var needsFreshToken = false
  /// The token that was refused in this login, which is not tried again.
  package var refused: Refusal?
  /// The device token that has expired.
  package var expiredToken: DeviceToken?
  /// Whether the server takes tokens only as bearer tokens, not in the place of a password.
  var usesBearer = false

  package struct Refusal: Sendable, Equatable {
    package var token: Secret
    package var failure: Failure
  }

  private let access: ServerAccess

  /// - Throws: `invalidParameter` naming the invalid option.
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

  /// - Throws: `tooManyDevices` where the policy allows no device of this platform.
  package func checkDevicePolicy() throws(Failure) {
    guard let platform = device.platform, !devicePolicy.allows(platform) else { return }
    throw Failure(
      .tooManyDevices, stage: .input,
      detail: .login(.platformRefused, platform))
  }

  /// The stream configuration for one attempt.
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

  /// Whether the server does not tolerate pipelining.
  package var isStepByStep: Bool { KnownServer.isStepByStep((server?.objections ?? 0) + objections) }

  /// Applies the stored data of the account. Stored tokens and keys are left out where a secret was given, because that
  /// secret itself is to be proved.
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

  /// The policy where the user chooses none: the stored one, as far as the credential allows it.
  ///
  /// - Parameters:
  ///   - stored: the stored policy; nil where nothing is stored.
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

  /// Whether there is a credential, even an expired one.
  package var hasCredential: Bool {
    credential.isUsable || !scramKeys.isEmpty || deviceToken != nil || expiredToken != nil
  }

  /// Whether this plan must replace a running session of another plan.
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
  /// These options, overridden by those given in `other`. A new host does not keep the old port, and a new CA file or
  /// pinned certificate replaces both.
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
