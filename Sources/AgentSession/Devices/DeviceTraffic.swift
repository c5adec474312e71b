import AgentLogin
import AgentProtocol
import XMPPFeatures
import XMPPStanza

/// The known state of the account's other devices. Pure: each update returns the events that it causes.
struct DeviceTraffic: Sendable, Equatable {
  /// The seconds after which an announcement of a kick is not related to the end of a session any more.
  private static let noticeLife = 60.0

  /// The resources that are available, except the session's own.
  private(set) var present: Set<String> = []
  /// The resources that watchers were told are online.
  private var told: Set<String> = []
  /// The records that devices publish about themselves, this one included, by device ID.
  private(set) var records: [String: DeviceRecord] = [:]
  /// Whether ``records`` is complete.
  private(set) var isKnown = false
  private var notice: (by: DeviceIdentity, time: Double)?

  static func == (one: Self, other: Self) -> Bool {
    one.present == other.present && one.told == other.told && one.records == other.records
      && one.isKnown == other.isKnown && one.notice?.by == other.notice?.by
  }

  /// Called for a new session, in which the server sends the presence of every device again.
  mutating func begin() {
    present = []
    isKnown = false
    notice = nil
  }

  /// Handles a presence from a device of the account (RFC 6121 §4.2.2).
  mutating func update(with presence: Presence, own: JID) -> [DeviceEvent] {
    guard let from = presence.from, from.bare == own.bare, let resource = from.resource,
      resource != own.resource
    else { return [] }
    switch presence.type {
    case nil:
      if present.count < DeviceSurvey.maximumDevices { present.insert(resource) }
      guard present.contains(resource), told.insert(resource).inserted else { return [] }
      return [event(.online, resource, own)]
    case .unavailable:
      present.remove(resource)
      return told.remove(resource) == nil ? [] : [event(.offline, resource, own)]
    default: return []
    }
  }

  /// Called when the server has sent the presence of every device that is online.
  mutating func settle(own: JID) -> [DeviceEvent] {
    let gone = told.subtracting(present)
    told = present
    return gone.sorted().map { event(.offline, $0, own) }
  }

  /// Replaces the records of all devices.
  mutating func update(with records: [DeviceRecord], own: JID, id: String?) -> [DeviceEvent] {
    let before = self.records
    self.records = Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    isKnown = true
    // Records that are known from the first reading on are not news.
    guard !before.isEmpty else { return [] }
    return self.records.values.sorted { $0.id < $1.id }
      .flatMap { changes(from: before[$0.id], to: $0, own, id) }
      + before.values.filter { self.records[$0.id] == nil }.map { gone($0, own) }
  }

  /// Handles a change in the node of device records.
  mutating func update(with event: PubSub.Event, own: JID, id: String?) -> [DeviceEvent] {
    guard event.node == DeviceRecord.node.name else { return [] }
    var events: [DeviceEvent] = []
    for change in event.changes {
      switch change {
      case .published(let item):
        guard let record = DeviceRecord(item) else { continue }
        let isKept = records[item.id] != nil || records.count < DeviceSurvey.maximumDevices
        guard isKept else { continue }
        events += changes(from: records[record.id], to: record, own, id)
        records[record.id] = record
      case .retracted(let id):
        if let record = records.removeValue(forKey: id) { events.append(gone(record, own)) }
      case .purged:
        events += records.values.sorted { $0.id < $1.id }.map { gone($0, own) }
        records = [:]
      }
    }
    return events
  }

  /// Stores the record that this device has published.
  mutating func told(_ record: DeviceRecord) { records[record.id] = record }

  /// Remembers the announcement of another device that it is about to end this session.
  mutating func update(with notice: KickNotice, at now: Double) {
    self.notice = (DeviceIdentity(name: notice.name, platform: notice.platform, ext: notice.ext), now)
  }

  /// The device that ended the session, where a device announced it recently.
  func kicker(at now: Double) -> DeviceIdentity? {
    notice.flatMap { now - $0.time <= Self.noticeLife ? $0.by : nil }
  }

  private func changes(
    from old: DeviceRecord?, to new: DeviceRecord, _ own: JID, _ id: String?
  ) -> [DeviceEvent] {
    if new.id == id { return [] }
    guard let old else { return [DeviceEvent(.add, jid: jid(new, own), by: .otherDevice, name: new.name)] }
    if old.name == new.name { return [] }
    return [DeviceEvent(.rename, jid: jid(new, own), by: .otherDevice, name: new.name)]
  }

  private func gone(_ record: DeviceRecord, _ own: JID) -> DeviceEvent {
    DeviceEvent(.remove, jid: jid(record, own), by: .otherDevice, name: record.name)
  }

  private func event(_ action: DeviceEvent.Action, _ resource: String, _ own: JID) -> DeviceEvent {
    let jid = (try? own.with(resource: resource)) ?? own.bare
    let name = records.values.first { $0.resource == resource }?.name
    return DeviceEvent(action, jid: jid.description, by: .otherDevice, name: name)
  }

  private func jid(_ record: DeviceRecord, _ own: JID) -> String {
    let full = record.resource.flatMap { try? own.with(resource: $0) }
    return (full ?? own.bare).description
  }
}
