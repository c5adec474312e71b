import AgentLogin
import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPClient
import XMPPFeatures
import XMPPSASL
import XMPPStanza

/// The devices of the account: which of them are online, what they publish about themselves, and the record of this
/// one.
package final class AccountDevices {
  /// The maximum number of published device records; older ones are removed.
  private static let maximumRecords = 50

  unowned let session: Session
  let context: SessionContext
  let presence: OwnPresence
  let features: AccountFeatures
  /// The known state of the devices.
  private(set) var known = DeviceTraffic()
  /// The stream that was bound last.
  private var last: BoundSession?
  /// Whether the user asked for this session; false for one that only reconnected.
  private(set) var isLogin = false
  /// Whether the user has changed the device policy in this session; the change applies from the next login on.
  private(set) var hasSetPolicy = false

  init(
    of session: Session, _ context: SessionContext, _ presence: OwnPresence, _ features: AccountFeatures
  ) {
    self.session = session
    self.context = context
    self.presence = presence
    self.features = features
  }

  /// The bound stream; nil while there is none.
  var stream: BoundSession? { last.flatMap { $0.isCurrent ? $0 : nil } }

  /// The login plan of the session that is online.
  var plan: LoginPlan? { session.ask { $0.online?.plan } }

  /// Called when a stream is bound, before any stanza is handled.
  ///
  /// - Parameter isLogin: whether the user asked for the session, or the agent has just started.
  func begin(_ stream: BoundSession, isLogin: Bool) {
    last = stream
    self.isLogin = isLogin
    hasSetPolicy = false
    if !stream.isResumed { known.begin() }
  }

  /// Records that the user has set the account's policy in this session.
  func setPolicy() { hasSetPolicy = true }

  // MARK: Incoming stanzas

  /// Handles a presence from the bound stream.
  func receive(_ presence: Presence) async {
    guard let own = stream?.jid else { return }
    await publish(known.update(with: presence, own: own))
  }

  /// Handles a message from the bound stream.
  func receive(_ message: Message) async {
    guard let own = stream?.jid else { return }
    if let notice = KickNotice(message, own: own) {
      known.update(with: notice, at: context.clock.uptime())
    } else if let event = PubSub.Event(message, own: own.bare) {
      await publish(known.update(with: event, own: own, id: plan?.deviceId))
    }
  }

  /// The device that ended the session, where a device of the account announced it.
  var kicker: DeviceIdentity? { known.kicker(at: context.clock.uptime()) }

  // MARK: This device's record

  /// Called when the session is synchronised: publishes this device and reads the records of the others.
  func announce(on stream: BoundSession) async {
    await session.discover(stream)
    guard stream.isCurrent, let plan, plan.credential.kind != .anonymous else { return }
    let own = stream.jid
    await publish(known.settle(own: own))
    let old = await share(on: stream, own)
    // In the background, because this may wait between its attempts.
    session.start { await $0.devices.makeRoom(on: stream) }
    if !old.isEmpty { try? await DeviceRecord.node.retract(old.map(\.id), on: stream) }
  }

  /// Publishes this device if its published record may be out of date.
  ///
  /// - Parameter isLogin: whether the user asked for this session; its time is published then.
  func announce(on stream: BoundSession, isLogin: Bool) async {
    if !stream.isResumed || !known.isKnown || isLogin { await announce(on: stream) }
  }

  /// Reads the records of the devices and publishes this one.
  ///
  /// - Returns: the records that are to be removed.
  private func share(on stream: BoundSession, _ own: JID) async -> [DeviceRecord] {
    guard let account = features.last, PrivateNode.isOffered(in: account), let id = plan?.deviceId
    else { return [] }
    let items: [PubSub.Item]
    do throws(XMPPError) { items = try await DeviceRecord.node.items(on: stream) } catch {
      context.log.error(
        "the devices and their policy could not be read",
        metadata: ["account": "\(context.account)", "failure": "\(error.message)"])
      return []
    }
    guard stream.isCurrent else { return [] }
    let records = items.compactMap { DeviceRecord($0) }
    await publish(known.update(with: records, own: own, id: id))
    await publishRecord(on: stream)
    await agreeOnPolicy(items, on: stream)
    return Array(
      records.filter { $0.id != id }.sorted { ($0.lastLogin ?? "") > ($1.lastLogin ?? "") }
        .dropFirst(Self.maximumRecords))
  }

  func publishRecord(on stream: BoundSession) async {
    guard let record, let account = features.last, stream.isCurrent else { return }
    do throws(XMPPError) {
      try await DeviceRecord.node.publish(record.item, on: stream, of: account)
      known.told(record)
    } catch {
      context.log.info(
        "the device could not be published",
        metadata: ["account": "\(context.account)", "failure": "\(error.message)"])
    }
  }

  /// The record that this device publishes; nil while it is not online.
  var record: DeviceRecord? {
    guard let stream, let plan, plan.deviceId != nil else { return nil }
    var record = LoginPlan.record(plan.deviceId, plan.device)
    record.resource = stream.jid.resource
    // A reconnection is not a login.
    record.lastLogin = plan.lastLogin ?? session.ask { $0.published.onlineSince }
    return record
  }

  /// Removes this device's record when the device leaves the account.
  func remove() async {
    guard let stream, let id = plan?.deviceId, known.records[id] != nil else { return }
    try? await DeviceRecord.node.retract([id], on: stream, timeout: .seconds(2))
  }

  /// Stores events and publishes them.
  func publish(_ events: [DeviceEvent]) async {
    if events.isEmpty { return }
    let name = context.account.description
    await context.storeAndPublish("devices are not stored", events.count) { database, cursors in
      try DeviceEvent.save(
        events, of: name, under: cursors, time: Date().timeIntervalSince1970, database)
    }
  }
}
