import AgentErrand
import AgentLogin
import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPSASL
import XMPPStanza

// The other devices of the account.

extension Session {
  /// Devices that may have published something of themselves; the oldest beyond that are forgotten.
  private static let maximumRecords = 50

  /// A presence of the bound stream.
  func takeDevice(_ presence: Presence) async {
    guard let own = online?.bound.jid else { return }
    await tell(devices.take(presence, own: own))
  }

  /// A message of the bound stream.
  func takeDevice(_ message: Message) async {
    guard let online else { return }
    let own = online.bound.jid
    if let notice = KickNotice(message, own: own) {
      devices.take(notice, at: clock.uptime())
    } else if let event = PubSub.Event(message, own: own.bare) {
      await tell(devices.take(event, own: own, id: online.plan.deviceId))
    }
  }

  /// Who has ended the session, where a device of the account has said so.
  var kicker: DeviceIdentity? { devices.kicker(at: clock.uptime()) }

  /// The session is synced: tells the other devices of this one where nobody else sees it, and learns of them.
  func announceDevice(on stream: BoundSession) async {
    await discover(stream)
    guard stream.isCurrent, let online, online.plan.credential.kind != .anonymous else { return }
    let own = online.bound.jid
    await tell(devices.settle(own: own))
    let old = await shareDevices(on: stream, own)
    // It may have to wait between its tries.
    Task { await makeRoom(on: stream) }
    if !old.isEmpty { try? await DeviceRecord.node.retract(old.map(\.id), on: stream) }
  }

  /// Takes over what the devices have published, and publishes this one.
  ///
  /// - Returns: the records of those that are forgotten.
  private func shareDevices(on stream: BoundSession, _ own: JID) async -> [DeviceRecord] {
    guard let account = accountDiscovery, PrivateNode.isOffered(in: account), let id = online?.plan.deviceId
    else { return [] }
    let items: [PubSub.Item]
    do throws(XMPPError) { items = try await DeviceRecord.node.items(on: stream) } catch {
      log.error(
        "the devices and their policy are not known",
        metadata: ["account": "\(self.account)", "failure": "\(error.message)"])
      return []
    }
    guard stream.isCurrent else { return [] }
    let records = items.compactMap { DeviceRecord($0) }
    await tell(devices.take(records, own: own, id: id))
    await publishDevice(on: stream)
    await agreeOnPolicy(items, on: stream)
    return Array(
      records.filter { $0.id != id }.sorted { ($0.lastLogin ?? "") > ($1.lastLogin ?? "") }
        .dropFirst(Self.maximumRecords))
  }

  /// Sends a message to another device, and to it alone; what is not there is told before.
  func sendToDevice(_ parameters: DevicesSendMethod.Parameters) async throws(Failure) -> Sending {
    guard let survey = survey(within: parameters.timeout) else {
      throw Failure(.notLoggedIn, stage: .request, detail: account.description)
    }
    if parameters.resource == survey.own.resource {
      throw Failure(.invalidParameter, stage: .input, detail: "\(parameters.resource) is this device")
    }
    let target = try await survey.target(parameters.resource, present: devices.present)
    let to: JID
    do { to = try account.with(resource: target.resource) } catch {
      throw Failure(.invalidParameter, stage: .input, detail: "\(parameters.resource): \(error.message)")
    }
    guard target.isOnline else {
      throw Failure(
        .stanzaError, stage: .request, detail: "\(parameters.resource) is not online: nothing was sent")
    }
    var message = OutgoingMessage(to: to.description, body: parameters.body)
    message.id = parameters.id
    var request = MessageSendMethod.Parameters(account: account.description, messages: [message])
    request.wait = .server
    request.timeout = parameters.timeout
    return try await send(request)
  }

  private func publishDevice(on stream: BoundSession) async {
    guard let record, let account = accountDiscovery, stream.isCurrent else { return }
    do throws(XMPPError) {
      try await DeviceRecord.node.publish(record.item, on: stream, of: account)
      devices.told(record)
    } catch {
      log.info(
        "the device is not published",
        metadata: ["account": "\(self.account)", "failure": "\(error.message)"])
    }
  }

  /// What the other devices are told of this one; nil while it is not online.
  private var record: DeviceRecord? {
    guard let online, online.plan.deviceId != nil else { return nil }
    var record = LoginPlan.record(online.plan.deviceId, online.plan.device)
    record.resource = online.bound.jid.resource
    // To come back is no login.
    record.lastLogin = online.plan.lastLogin ?? onlineSince
    return record
  }

  /// This device is none of the account any more.
  func forgetDevice() async {
    guard let online, let id = online.plan.deviceId, devices.records[id] != nil else { return }
    try? await DeviceRecord.node.retract([id], on: online.stream, timeout: .seconds(2))
  }

  /// Stores what has happened, and tells it.
  func tell(_ events: [DeviceEvent]) async {
    if events.isEmpty { return }
    let name = account.description
    do throws(Failure) {
      try await storeAndTell(events.count) { database, cursors in
        try DeviceEvent.keep(
          events, of: name, under: cursors, time: Date().timeIntervalSince1970, database)
      }
    } catch {
      log.error("devices are not stored", metadata: ["account": "\(account)", "failure": "\(error.message)"])
    }
  }

  // MARK: What commands ask

  /// This device, with another name where one is given.
  func ownDevice(_ parameters: DevicesSelfMethod.Parameters) async throws(Failure) -> Device {
    if let name = parameters.name {
      try await accounts.change(account) { $0.rename(name) }
      let change = DeviceIdentity(name: name)
      if let plan = online?.plan { online?.plan.device = plan.device.overridden(by: change) }
      if let plan = kept { kept?.device = plan.device.overridden(by: change) }
      if let stream = online?.stream { await publishDevice(on: stream) }
    }
    guard let record else {
      let stored = try await accounts.entry(account)
      return stored.map { Device(stored: $0) } ?? Device(resource: nil, online: false, isSelf: true)
    }
    var device = Device(record)
    device.online = true
    device.isSelf = true
    return device
  }

  func listDevices(_ parameters: DevicesListMethod.Parameters) async throws(Failure)
    -> DevicesListMethod.Result
  {
    if let survey = survey(within: parameters.timeout) {
      var all = try await survey.devices(present: devices.present)
      // What this one has not published it knows all the same.
      if let record, let place = all.firstIndex(where: \.isSelf), all[place].id == nil {
        all[place] = Device(record)
        (all[place].online, all[place].isSelf) = (true, true)
      }
      return DevicesListMethod.Result(devices: all)
    }
    let atServer = try await devicesAtServer(within: parameters.timeout)
    return DevicesListMethod.Result(devices: try await atServer.list())
  }

  func kickDevices(_ parameters: DevicesKickMethod.Parameters) async throws(Failure)
    -> DevicesKickMethod.Result
  {
    if let victim = parameters.of { return try await endSessions(of: victim, parameters) }
    if let own = online?.bound.jid.resource, parameters.resource == own {
      throw Failure(
        .invalidParameter, stage: .input, detail: "\(own) is this device: imctl logout ends its session")
    }
    var atServer = try await devicesAtServer(within: parameters.timeout)
    let targets = try await targets(parameters)
    var result = DevicesKickMethod.Result(outcomes: [])
    if let targets, let password = parameters.newPassword {
      if let online { await atServer.warn(targets.resources, over: online.stream, online.bound.jid) }
      var change = AccountPasswdMethod.Parameters(
        account: account.description, newPassword: password)
      change.newPasswordCommand = parameters.newPasswordCommand
      change.timeout = parameters.timeout
      let (changed, witness) = try await atServer.observing { [change] () async throws(Failure) in
        try await self.changePassword(change)
      }
      result.usesCommand = changed.usesCommand
      atServer = try await devicesAtServer(within: parameters.timeout)
      result.outcomes = try await kick(targets, by: atServer, after: witness)
    } else if let targets {
      result.outcomes = try await kick(targets, by: atServer)
    } else {
      let new = parameters.newPassword.map { Secret($0) }
      result.outcomes = try await atServer.kick(parameters.resource, newPassword: new)
      if let new {
        kept?.passwordChanged(to: new, keys: [])
        result.usesCommand = try await atServer.keepPassword(
          new, command: parameters.newPasswordCommand, in: accounts)
      }
    }
    return result
  }

  /// Tells devices who it is, and ends their sessions.
  func kick(
    _ targets: DevicesAtServer.Targets, by atServer: DevicesAtServer, after witness: PasswordWitness? = nil
  ) async throws(Failure) -> [DevicesKickMethod.Outcome] {
    if witness == nil, let online {
      await atServer.warn(targets.resources, over: online.stream, online.bound.jid)
    }
    let outcomes = try await atServer.kick(targets, after: witness)
    let name = account.description
    let kicked = outcomes.filter { $0.state == .kicked }.compactMap(\.resource)
    await tell(kicked.map { DeviceEvent(.kick, jid: name + "/" + $0, by: .own) })
    return outcomes
  }

  /// Who is to be kicked, and whether it is known to be there; nil where no session could tell.
  private func targets(
    _ parameters: DevicesKickMethod.Parameters
  ) async throws(Failure) -> DevicesAtServer.Targets? {
    guard let survey = survey(within: parameters.timeout) else { return nil }
    if let name = parameters.resource {
      return .init(try await survey.target(name, present: devices.present))
    }
    let view = try await survey.view(present: devices.present)
    return .init(allOf: view, isPresent: shownPresence != nil)
  }

  func survey(within seconds: Double) -> DeviceSurvey? {
    online.map { DeviceSurvey(stream: $0.stream, own: $0.bound.jid, timeout: .bounded(seconds)) }
  }

  /// Logs in as this session does, or as what is stored says.
  func devicesAtServer(within seconds: Double) async throws(Failure) -> DevicesAtServer {
    var plan = online?.plan ?? kept
    if plan == nil, let stored = try await accounts.entry(account) { plan = try self.plan(of: stored) }
    guard let plan else { throw Failure(.notLoggedIn, stage: .request, detail: account.description) }
    return try DevicesAtServer(plan, timeout: seconds, language: language)
  }

  private static func jid(_ name: String, _ resource: String?) throws(JIDError) -> JID {
    let bare = try JID(name).bare
    guard let resource else { return bare }
    return try bare.with(resource: resource)
  }

  /// Ends the sessions of somebody else, as who may do so on the server (XEP-0133 §4.5).
  private func endSessions(
    of name: String, _ parameters: DevicesKickMethod.Parameters
  ) async throws(Failure) -> DevicesKickMethod.Result {
    guard let stream = online?.stream else {
      throw Failure(.notLoggedIn, stage: .request, detail: account.description)
    }
    let victim: JID
    let server: JID
    do throws(JIDError) {
      victim = try Self.jid(name, parameters.resource)
      server = try JID(domain: victim.domain)
    } catch {
      throw Failure(.invalidParameter, stage: .input, detail: "\(name): \(error.message)")
    }
    let jids = [victim.description]
    let timeout = TimeAmount.bounded(parameters.timeout)
    do throws(XMPPError) {
      let online = try await Self.onlineResources(of: victim.bare, at: server, on: stream, timeout)
      if let online, victim.resource.map({ !online.contains($0) }) ?? online.isEmpty {
        return DevicesKickMethod.Result(outcomes: [.init(resource: parameters.resource, state: .notOnline)])
      }
      // Servers spell the one field differently.
      try await AdHocCommand.execute(
        AdHocCommand.endUserSession, at: server, answers: ["accountjid": jids, "accountjids": jids],
        on: stream, timeout: timeout)
    } catch {
      throw Failure(error)
    }
    return DevicesKickMethod.Result(outcomes: [.init(resource: parameters.resource, state: .kicked)])
  }

  /// The resources of somebody else that are online; nil where the server does not tell. A server that does not know
  /// the account says so.
  private static func onlineResources(
    of account: JID, at server: JID, on stream: BoundSession, _ timeout: TimeAmount
  ) async throws(XMPPError) -> Set<String>? {
    do throws(XMPPError) {
      return try await AdHocCommand.onlineResources(of: account, at: server, on: stream, timeout: timeout)
    } catch {
      // The command that ends sessions may be allowed all the same.
      let isUnknown = error.code == .protocolError || error.code == .stanzaError && error.condition != nil
      if isUnknown { return nil }
      throw error
    }
  }
}
