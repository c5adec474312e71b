import AgentLogin
import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPSASL
import XMPPStanza

// The commands about devices.

extension AccountDevices {
  /// Returns this device, renamed where a name is given.
  package func own(_ parameters: DevicesSelfMethod.Parameters) async throws(Failure) -> Device {
    if let name = parameters.name {
      try await context.accounts.change(context.account) { $0.rename(name) }
      session.ask { $0.overrideDevice(by: DeviceIdentity(name: name)) }
      if let stream { await publishRecord(on: stream) }
    }
    guard let record else {
      let stored = try await context.accounts.entry(context.account)
      return stored.map { Device(stored: $0) } ?? Device(resource: nil, online: false, isSelf: true)
    }
    var device = Device(record)
    device.online = true
    device.isSelf = true
    return device
  }

  package func list(_ parameters: DevicesListMethod.Parameters) async throws(Failure)
    -> DevicesListMethod.Result
  {
    if let survey = survey(within: parameters.timeout) {
      var all = try await survey.devices(present: known.present)
      // This device's record is known even if it was not published.
      if let record, let place = all.firstIndex(where: \.isSelf), all[place].id == nil {
        all[place] = Device(record)
        (all[place].online, all[place].isSelf) = (true, true)
      }
      return DevicesListMethod.Result(devices: all)
    }
    let atServer = try await self.atServer(within: parameters.timeout)
    return DevicesListMethod.Result(devices: try await atServer.list())
  }

  package func kick(_ parameters: DevicesKickMethod.Parameters) async throws(Failure)
    -> DevicesKickMethod.Result
  {
    if let victim = parameters.of { return try await endSessions(of: victim, parameters) }
    if let own = stream?.jid.resource, parameters.resource == own {
      throw Failure(
        .invalidParameter, stage: .input, detail: .session(.ownDevice, own))
    }
    var atServer = try await self.atServer(within: parameters.timeout)
    let targets = try await targets(parameters)
    var result = DevicesKickMethod.Result(outcomes: [])
    if let targets, let password = parameters.newPassword {
      if let stream { await atServer.warn(targets.resources, over: stream, stream.jid) }
      var change = AccountPasswdMethod.Parameters(
        account: context.account.description, newPassword: password)
      change.newPasswordCommand = parameters.newPasswordCommand
      change.timeout = parameters.timeout
      let (changed, witness) = try await atServer.observing { [change, session] () async throws(Failure) in
        try await session.changePassword(change)
      }
      result.usesCommand = changed.usesCommand
      atServer = try await self.atServer(within: parameters.timeout)
      result.outcomes = try await kick(targets, by: atServer, after: witness)
    } else if let targets {
      result.outcomes = try await kick(targets, by: atServer)
    } else {
      let new = parameters.newPassword.map { Secret($0) }
      result.outcomes = try await atServer.kick(parameters.resource, newPassword: new)
      if let new {
        session.ask { $0.passwordChanged(to: new) }
        result.usesCommand = try await atServer.storePassword(
          new, command: parameters.newPasswordCommand, in: context.accounts)
      }
    }
    return result
  }

  /// Ends the sessions of devices after telling them who does so.
  func kick(
    _ targets: DevicesAtServer.Targets, by atServer: DevicesAtServer, after witness: PasswordWitness? = nil
  ) async throws(Failure) -> [DevicesKickMethod.Outcome] {
    if witness == nil, let stream { await atServer.warn(targets.resources, over: stream, stream.jid) }
    let outcomes = try await atServer.kick(targets, after: witness)
    let name = context.account.description
    let kicked = outcomes.filter { $0.state == .kicked }.compactMap(\.resource)
    await publish(kicked.map { DeviceEvent(.kick, jid: name + "/" + $0, by: .own) })
    return outcomes
  }

  /// The devices to kick, and whether each is known to be online; nil without a session that could tell.
  private func targets(
    _ parameters: DevicesKickMethod.Parameters
  ) async throws(Failure) -> DevicesAtServer.Targets? {
    guard let survey = survey(within: parameters.timeout) else { return nil }
    if let name = parameters.resource {
      return .init(try await survey.target(name, present: known.present))
    }
    let view = try await survey.view(present: known.present)
    return .init(allOf: view, isPresent: presence.shown != nil)
  }

  func survey(within seconds: Double) -> DeviceSurvey? {
    stream.map { DeviceSurvey(stream: $0, own: $0.jid, timeout: .bounded(seconds)) }
  }

  /// Logs in with the session's plan, or with the stored account.
  func atServer(within seconds: Double) async throws(Failure) -> DevicesAtServer {
    var plan = session.ask { $0.online?.plan ?? $0.activePlan }
    if plan == nil, let stored = try await context.accounts.entry(context.account) {
      plan = try await session.plan(of: stored)
    }
    guard let plan else {
      throw Failure(.notLoggedIn, stage: .request, detail: .text(context.account.description))
    }
    return try DevicesAtServer(plan, timeout: seconds, language: context.language)
  }

  private static func jid(_ name: String, _ resource: String?) throws(JIDError) -> JID {
    let bare = try JID(name).bare
    guard let resource else { return bare }
    return try bare.with(resource: resource)
  }

  /// Ends the sessions of another user, for administrators of the server (XEP-0133 §4.5).
  private func endSessions(
    of name: String, _ parameters: DevicesKickMethod.Parameters
  ) async throws(Failure) -> DevicesKickMethod.Result {
    guard let stream else {
      throw Failure(.notLoggedIn, stage: .request, detail: .text(context.account.description))
    }
    let victim: JID
    let server: JID
    do throws(JIDError) {
      victim = try Self.jid(name, parameters.resource)
      server = try JID(domain: victim.domain)
    } catch {
      throw Failure(.invalidParameter, stage: .input, detail: .about(name, FailureDetail(error)))
    }
    let jids = [victim.description]
    let timeout = TimeAmount.bounded(parameters.timeout)
    do throws(XMPPError) {
      let online = try await Self.onlineResources(of: victim.bare, at: server, on: stream, timeout)
      if let online, victim.resource.map({ !online.contains($0) }) ?? online.isEmpty {
        return DevicesKickMethod.Result(outcomes: [.init(resource: parameters.resource, state: .notOnline)])
      }
      // Servers spell the name of the field differently.
      try await AdHocCommand.execute(
        AdHocCommand.endUserSession, at: server, answers: ["accountjid": jids, "accountjids": jids],
        on: stream, timeout: timeout)
    } catch {
      throw Failure(error)
    }
    return DevicesKickMethod.Result(outcomes: [.init(resource: parameters.resource, state: .kicked)])
  }

  /// The resources of another user that are online; nil where the server does not tell. Throws for an account that the
  /// server does not know.
  private static func onlineResources(
    of account: JID, at server: JID, on stream: BoundSession, _ timeout: TimeAmount
  ) async throws(XMPPError) -> Set<String>? {
    do throws(XMPPError) {
      return try await AdHocCommand.onlineResources(of: account, at: server, on: stream, timeout: timeout)
    } catch {
      // The command that ends sessions may be allowed even if this one is not.
      let isUnknown = error.code == .protocolError || error.code == .stanzaError && error.condition != nil
      if isUnknown { return nil }
      throw error
    }
  }

  /// Sends a message to another device alone; throws before that where the device is not there.
  package func send(_ parameters: DevicesSendMethod.Parameters) async throws(Failure) -> Sending {
    guard let survey = survey(within: parameters.timeout) else {
      throw Failure(.notLoggedIn, stage: .request, detail: .text(context.account.description))
    }
    if parameters.resource == survey.own.resource {
      throw Failure(.invalidParameter, stage: .input, detail: .session(.thisDevice, parameters.resource))
    }
    let target = try await survey.target(parameters.resource, present: known.present)
    let to: JID
    do { to = try context.account.with(resource: target.resource) } catch {
      throw Failure(
        .invalidParameter, stage: .input, detail: .about(parameters.resource, FailureDetail(error)))
    }
    guard target.isOnline else {
      throw Failure(
        .stanzaError, stage: .request, detail: .session(.deviceOffline, parameters.resource))
    }
    var message = OutgoingMessage(to: to.description, body: parameters.body)
    message.id = parameters.id
    var request = MessageSendMethod.Parameters(account: context.account.description, messages: [message])
    request.wait = .server
    request.timeout = parameters.timeout
    return try await session.send(request)
  }
}
