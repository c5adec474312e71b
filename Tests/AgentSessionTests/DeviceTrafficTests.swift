import AgentProtocol
import Testing
import XMPPFeatures
import XMPPStanza
import XMPPXML

@testable import AgentLogin
@testable import AgentSession

@Suite("The other devices of an account as a session sees them")
struct DeviceTrafficTests {
  private let own: JID

  init() throws { own = try JID("alice@example.org/desk") }

  private func presence(_ from: String, _ type: Presence.Kind? = nil) throws -> Presence {
    Presence(type: type, from: try JID(from))
  }

  private func record(_ id: String, _ resource: String, name: String? = nil) -> DeviceRecord {
    var record = DeviceRecord(id: id)
    record.resource = resource
    record.name = name
    return record
  }

  private func event(_ from: String, _ change: String) throws -> PubSub.Event? {
    let items = XMLElement(
      "items", namespace: PubSub.eventNamespace, attributes: ["node": DeviceRecord.node.name],
      children: [
        change.isEmpty
          ? XMLElement("retract", namespace: PubSub.eventNamespace, attributes: ["id": "two"])
          : XMLElement(
            "item", namespace: PubSub.eventNamespace, attributes: ["id": "two"],
            children: [record("two", "phone", name: change).item.payload].compactMap(\.self))
      ])
    var message = Message(
      type: .headline,
      payload: [XMLElement("event", namespace: PubSub.eventNamespace, children: [items])])
    message.from = try JID(from)
    return PubSub.Event(message, own: own.bare)
  }

  @Test(
    "The presence of another device of the account is reported once, and the presence of a stranger is ignored."
  )
  func presences() throws {
    var traffic = DeviceTraffic()
    #expect(
      try traffic.update(with: presence("alice@example.org/phone"), own: own)
        == [DeviceEvent(.online, jid: "alice@example.org/phone", by: .otherDevice)])
    #expect(try traffic.update(with: presence("alice@example.org/phone"), own: own).isEmpty)
    for other in [
      "alice@example.org/desk", "alice@example.org", "mallory@example.org/phone", "alice@example.com/x",
    ] {
      #expect(try traffic.update(with: presence(other), own: own).isEmpty, "\(other)")
    }
    #expect(traffic.present == ["phone"])
    #expect(
      try traffic.update(with: presence("alice@example.org/phone", .unavailable), own: own).map(\.action) == [
        .offline
      ])
    #expect(try traffic.update(with: presence("alice@example.org/phone", .unavailable), own: own).isEmpty)
  }

  @Test("A new session reports only the devices whose presence has changed since the last session.")
  func anotherSession() throws {
    var traffic = DeviceTraffic()
    for name in ["phone", "pad"] {
      _ = try traffic.update(with: presence("alice@example.org/" + name), own: own)
    }
    traffic.begin()
    #expect(try traffic.update(with: presence("alice@example.org/phone"), own: own).isEmpty)
    #expect(traffic.settle(own: own).map(\.jid) == ["alice@example.org/pad"])
    #expect(traffic.settle(own: own).isEmpty)
  }

  @Test("The number of devices that a session remembers is limited.")
  func bounded() throws {
    var traffic = DeviceTraffic()
    var told = 0
    for number in 0..<1000 {
      told += try traffic.update(with: presence("alice@example.org/\(number)"), own: own).count
      _ = traffic.update(with: [record("\(number)", "x")], own: own, id: "one")
    }
    #expect(told == DeviceSurvey.maximumDevices && traffic.present.count == DeviceSurvey.maximumDevices)
  }

  @Test("A published device record is reported if the device is new, renamed or removed.")
  func records() throws {
    var traffic = DeviceTraffic()
    #expect(
      traffic.update(with: [record("one", "desk"), record("two", "phone")], own: own, id: "one").isEmpty)
    #expect(
      traffic.update(
        with: [record("one", "desk", name: "mine"), record("two", "phone", name: "Anna")], own: own, id: "one"
      )
        == [DeviceEvent(.rename, jid: "alice@example.org/phone", by: .otherDevice, name: "Anna")])
    let renamed = try #require(try event("alice@example.org", "Berta"))
    #expect(traffic.update(with: renamed, own: own, id: "one").map(\.name) == ["Berta"])
    #expect(traffic.update(with: renamed, own: own, id: "one").isEmpty)
    let gone = try #require(try event("alice@example.org", ""))
    #expect(
      traffic.update(with: gone, own: own, id: "one")
        == [DeviceEvent(.remove, jid: "alice@example.org/phone", by: .otherDevice, name: "Berta")])
    #expect(traffic.update(with: renamed, own: own, id: "one").map(\.action) == [.add])
  }

  @Test(
    "Device records from anybody but the account itself are ignored.",
    arguments: ["mallory@example.org", "alice@example.org/phone", "alice@example.com", "аlice@example.org"])
  func forged(from: String) throws {
    #expect(try event(from, "Mallory") == nil)
  }

  @Test(
    "A kick notice counts for a minute, if another device of the account has sent it to this device.")
  func notices() throws {
    let notice = KickNotice(name: "kitchen iPad", platform: 60, ext: "Anna's")
    var message = notice.message(to: own)
    for (from, isBelieved) in [
      ("alice@example.org/phone", true), ("alice@example.org", false), ("alice@example.org/desk", false),
      ("mallory@example.org/phone", false), ("аlice@example.org/phone", false),
    ] {
      message.from = try JID(from)
      #expect((KickNotice(message, own: own) == notice) == isBelieved, "\(from)")
    }
    message.from = try JID("alice@example.org/phone")
    var other = message
    other.to = try JID("alice@example.org")
    #expect(KickNotice(other, own: own) == nil)
    #expect(
      message.first("no-store", "urn:xmpp:hints") != nil && message.first("no-copy", "urn:xmpp:hints") != nil)
    #expect(message.first("private", Namespaces.carbons) != nil && message.body == nil)
    var traffic = DeviceTraffic()
    traffic.update(with: notice, at: 100)
    #expect(traffic.kicker(at: 160) == DeviceIdentity(name: "kitchen iPad", platform: 60, ext: "Anna's"))
    #expect(traffic.kicker(at: 161) == nil)
    traffic.begin()
    #expect(traffic.kicker(at: 100) == nil)
  }

  @Test("A device record with a long name is shortened, and its unknown platform is ignored.")
  func hostileRecord() throws {
    var record = record("one", "desk", name: String(repeating: "x", count: 100_000))
    record.platform = 101
    let read = try #require(DeviceRecord(record.item))
    #expect(read.name?.count == 256 && read.platform == nil && read.resource == "desk")
    #expect(DeviceRecord(PubSub.Item("one", XMLElement("device", namespace: "urn:other"))) == nil)
    #expect(DeviceRecord(PubSub.Item("one")) == nil)
  }
}

@Suite("The devices that a device policy ends")
struct DevicePolicyTests {
  private func device(_ resource: String, _ platform: Int?, _ login: String?, online: Bool = true) -> Device {
    var device = Device(resource: resource, online: online)
    device.platform = platform
    device.lastLogin = login
    return device
  }

  private var devices: [Device] {
    var own = device("own", 60, "2026-05-01T00:00:00.000Z")
    own.isSelf = true
    return [
      own, device("late", 60, "2026-04-01T00:00:00.000Z"), device("early", 60, "2026-01-01T00:00:00.000Z"),
      device("away", 60, "2025-01-01T00:00:00.000Z", online: false),
      device("other", 61, "2025-01-01T00:00:00.000Z"), device("foreign", nil, nil),
    ]
  }

  @Test("A limit ends the oldest online devices of the same platform, and no others.")
  func limits() {
    #expect(DevicePolicy().victims(of: 60, among: devices).isEmpty)
    #expect(DevicePolicy(limits: [60: 3]).victims(of: 60, among: devices).isEmpty)
    #expect(DevicePolicy(limits: [60: 2]).victims(of: 60, among: devices) == ["early"])
    #expect(DevicePolicy(limits: [60: 1]).victims(of: 60, among: devices) == ["early", "late"])
    #expect(DevicePolicy(limits: [61: 1]).victims(of: 60, among: devices).isEmpty)
    #expect(DevicePolicy(.onePerPlatform).victims(of: 60, among: devices) == ["early", "late"])
    #expect(DevicePolicy(.onePerPlatform).victims(of: nil, among: devices).isEmpty)
    #expect(
      Set(DevicePolicy(.single).victims(of: nil, among: devices)) == ["early", "late", "other", "foreign"])
  }

  @Test("A change of the policy keeps the settings that it does not mention, and can remove a limit.")
  func change() {
    var change = DevicesPolicyMethod.Parameters(account: nil)
    #expect(!change.isChange)
    change.limits = [60: 2, 61: 0]
    change.check = .last
    let policy = DevicePolicy(.single).changed(by: change)
    #expect(policy == DevicePolicy(.single, limits: [60: 2, 61: 0], check: .last))
    #expect(policy.allows(60) && !policy.allows(61) && policy.allows(62) && policy.allows(nil))
    change = DevicesPolicyMethod.Parameters(account: nil)
    (change.rule, change.unlimited, change.check) = (.all, [60], .token)
    #expect(policy.changed(by: change) == DevicePolicy(.all, limits: [61: 0]))
    for wrong in [[0: 1], [101: 1], [60: 101], [60: -1]] {
      change.limits = wrong
      #expect(throws: RPCError.invalidParameter("limits")) { try change.validate() }
    }
    change.limits = nil
    change.unlimited = [0]
    #expect(throws: RPCError.invalidParameter("limits")) { try change.validate() }
  }
}
