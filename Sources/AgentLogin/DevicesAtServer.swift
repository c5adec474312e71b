import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza

/// Lists the devices of an account and ends their sessions on short streams. These send no presence, so that other
/// users do not notice, and change no stored data.
package struct DevicesAtServer: Sendable {
  package let stream: ServerStream
  package private(set) var plan: LoginPlan

  /// - Parameters:
  ///   - login: the account, a secret if one is given, and the given options, which override the stored ones.
  ///
  /// Throws `invalidParameter` where there is no credential.
  package init(
    _ login: LoginMethod.Parameters, in accounts: AccountStore, language: String,
    onEvent: @escaping @Sendable (Event.Body) -> Void = { _ in }
  ) async throws(Failure) {
    let name = login.account
    let stored = try await accounts.inBackground { store throws(Failure) in
      try store.load()[BareJID.normalise(name)]
    }
    let given = try LoginCredential(given: login, stored: stored?.credential)
    let jid = try JID(given: name).bare
    guard given != nil || stored?.hasCredential == true else {
      throw Failure(
        .invalidParameter, stage: .input,
        detail: .login(.noCurrentPassword, jid))
    }
    let options = (stored?.options ?? ConnectionOptions()).overridden(by: login.options)
    var plan = try LoginPlan(
      account: jid, credential: given ?? stored?.credential ?? LoginCredential(), isGiven: given != nil,
      store: nil, options: options)
    if let stored { plan.apply(stored, at: Date().timeIntervalSince1970) }
    plan.tokenAnswer = login.tokenAnswer
    try self.init(plan, timeout: login.timeout, language: language, onEvent: onEvent)
  }

  /// - Parameters:
  ///   - plan: the login plan of a session of the account.
  ///   - timeout: the time limit in seconds.
  ///
  /// Throws `notLoggedIn` for a plan without a credential.
  package init(
    _ plan: LoginPlan, timeout: Double, language: String,
    onEvent: @escaping @Sendable (Event.Body) -> Void = { _ in }
  ) throws(Failure) {
    guard plan.hasCredential else {
      throw Failure(
        .notLoggedIn, stage: .request, detail: .login(.nothingStored, plan.account))
    }
    stream = try ServerStream(
      to: plan.account.description, options: plan.options, timeout: timeout, language: language,
      onEvent: onEvent)
    self.plan = plan
    // Without a device token, the stream logs in without a device ID, so that the server records no device.
    if plan.deviceToken == nil { self.plan.deviceId = nil }
  }

  /// Bare JID.
  package var account: String { plan.account.description }

  /// The devices, online ones first.
  package func list() async throws(Failure) -> [Device] {
    try await look { survey, _ throws(Failure) in
      try await survey.devices().filter { !$0.isSelf }
    }
  }

  /// The devices to kick.
  package struct Targets: Sendable {
    /// The resources, and whether each is known to have a session.
    package var resources: [String: Bool] = [:]
    /// The device IDs of the other devices.
    package var ids: [String] = []
    /// Whether there may be sessions that the server does not list.
    var hidesSessions = false

    /// All other devices of a view.
    ///
    /// - Parameter isPresent: whether the surveying stream has sent presence, so that it sees the presence of the
    ///   others.
    package init(allOf view: DeviceSurvey.View, isPresent: Bool) {
      self.init(online: view.others)
      ids = view.devices.lazy.filter { !$0.isSelf }.compactMap(\.id)
      hidesSessions = !view.isComplete && !isPresent
    }

    /// - Parameter resources: the resources with a session.
    package init(online resources: some Sequence<String>) {
      self.resources = Dictionary(resources.map { ($0, true) }, uniquingKeysWith: { one, _ in one })
    }

    package init(_ target: (resource: String, isOnline: Bool)) {
      resources[target.resource] = target.isOnline
    }
  }

  /// Ends the session of one device, or of all devices.
  ///
  /// - Parameters:
  ///   - name: the name or resource of the device; nil for all devices.
  ///   - newPassword: a new password that is set first.
  package func kick(
    _ name: String?, newPassword: Secret? = nil
  ) async throws(Failure) -> [DevicesKickMethod.Outcome] {
    let targets = try await look { survey, connection throws(Failure) in
      let targets =
        if let name { Targets(try await survey.target(name)) } else {
          Targets(allOf: try await survey.view(), isPresent: false)
        }
      await warn(targets.resources, over: connection, survey.own)
      return targets
    }
    guard let newPassword else { return try await kick(targets, after: nil) }
    let (_, witness) = try await observing { () async throws(Failure) in
      try await look { _, connection throws(Failure) in
        try await Failure.whenRefused { () async throws(XMPPError) in
          try await Registration.changePassword(
            of: stream.account, to: newPassword.value, on: connection, timeout: stream.timeout)
        }
      }
    }
    var changed = self
    changed.plan.passwordChanged(to: newPassword, keys: [])
    changed.plan.deviceToken = nil
    return try await changed.kick(targets, after: witness)
  }

  /// Runs `change`, which changes the password, and observes which sessions and tokens that ends.
  package func observing<Result: Sendable>(
    _ change: @escaping @Sendable () async throws(Failure) -> Result
  ) async throws(Failure) -> (Result, PasswordWitness) {
    try await PasswordWitness.observe(stream, plan, as: Self.randomResource, change)
  }

  /// Kicks `targets`, revokes their tokens unless a password change has done so, and reports what may remain.
  package func kick(
    _ targets: Targets, after witness: PasswordWitness?
  ) async throws(Failure) -> [DevicesKickMethod.Outcome] {
    var outcomes = try await kick(targets.resources)
    if targets.hidesSessions, witness?.endsSessions != true { outcomes.append(.init(left: .sessions)) }
    if witness?.keepsTokens == true {
      await endTokens(of: targets.ids)
      outcomes.append(.init(left: .tokens))
    }
    return outcomes
  }

  /// Stores a password that ``kick(_:newPassword:)`` has set, in the form in which the old one was stored.
  ///
  /// Returns whether a stored command must print it from now on.
  package func storePassword(
    _ new: Secret, command: String?, in accounts: AccountStore
  ) async throws(Failure) -> Bool {
    let account = try await AccountAtServer(
      account, password: new, options: ConnectionOptions(), timeout: stream.timeout.seconds, in: accounts,
      language: stream.language)
    let keys = await account.keysToKeep(of: new)
    return try await accounts.passwordChanged(of: plan.account, to: new, command: command, keys: keys)
      .usesCommand
  }

  /// Announces to online devices that their sessions are about to end; returns when the server has the notices.
  package func warn(_ targets: [String: Bool], over connection: some RequestStream, _ own: JID) async {
    let victims = targets.filter(\.value).keys.compactMap { try? own.with(resource: $0) }
    if victims.isEmpty { return }
    let notices = victims.map { plan.kickNotice.message(to: $0).element }
    _ = try? await connection.exchange(
      notices + [Ping.request(own.bare).withID.element], timeout: .seconds(5))
  }

  /// Takes over each session's resource in turn, then releases it.
  ///
  /// - Parameter targets: the resources, and whether each is known to have a session.
  package func kick(_ targets: [String: Bool]) async throws(Failure) -> [DevicesKickMethod.Outcome] {
    var outcomes: [DevicesKickMethod.Outcome] = []
    for (resource, isOnline) in targets.sorted(by: { $0.key < $1.key }) {
      do throws(Failure) {
        try await end(resource)
        outcomes.append(.init(resource: resource, state: isOnline ? .kicked : .notOnline))
      } catch {
        guard error.stage == .bind else { throw error }
        outcomes.append(.init(resource: resource, state: .refused, error: error))
      }
    }
    return outcomes
  }

  /// Binds the resource, so that the server ends its session (RFC 6120 §7.7.2.2).
  private func end(_ resource: String) async throws(Failure) {
    var plan = plan
    try await stream.loggedIn(by: &plan, as: resource) { _, bound throws(Failure) in
      guard bound.jid.resource == resource else {
        throw Failure(
          .invalidParameter, stage: .bind, detail: .session(.otherResource, resource))
      }
    }
  }

  static var randomResource: String { "imctl-" + String(UInt64.random(in: .min ... .max), radix: 36) }

  /// Runs `body` on a stream with a random resource.
  private func look<Result: Sendable>(
    _ body: (DeviceSurvey, XMPPStream) async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    var plan = plan
    return try await stream.loggedIn(by: &plan, as: Self.randomResource) {
      connection, bound throws(Failure) in
      try await body(
        DeviceSurvey(stream: connection, own: bound.jid, timeout: stream.timeout), connection)
    }
  }
}
