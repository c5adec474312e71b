import Testing
import XMPPFeatures

@testable import AgentSession

@Suite("The device that logged in last") struct LastLoginTests {
  private static func record(_ id: String, _ minute: Int?) -> DeviceRecord {
    var record = DeviceRecord(id: id)
    record.lastLogin = minute.map(time)
    return record
  }

  private static func time(_ minute: Int) -> String { "2026-11-21T02:\(minute):00.000Z" }

  private func isLast(_ stored: Int?, _ records: [(String, Int?)]) -> Bool {
    LastLogin(id: "mine", time: stored.map(Self.time)).isLast(among: records.map(Self.record))
  }

  @Test("A device is the last one if no other device has logged in after it.")
  func followed() {
    #expect(isLast(20, [("mine", 20), ("other", 19)]))
    #expect(!isLast(20, [("mine", 20), ("other", 21)]))
    // What it has not published yet it knows all the same.
    #expect(isLast(20, [("other", 19)]) && isLast(20, [("mine", 10), ("other", 19)]))
    // What an earlier version has not stored it has published.
    #expect(isLast(nil, [("mine", 20), ("other", 19)]))
    #expect(!isLast(nil, [("mine", 20), ("other", 21)]))
  }

  @Test("A device that has never logged in is the last one only if there is no other device.")
  func never() {
    #expect(isLast(nil, []) && isLast(20, []))
    #expect(!isLast(nil, [("other", 10)]))
  }

  @Test("A device that uses a copy of another device's store is not the last one.")
  func copied() {
    // Under another name, with the time of the original.
    #expect(!isLast(20, [("original", 20)]))
    // Under the same name: the original has logged in since.
    #expect(!isLast(20, [("mine", 21)]))
  }

  @Test("A record without a valid time does not make its device the last one.")
  func unknown() {
    #expect(isLast(20, [("other", nil)]) && isLast(nil, [("other", nil)]))
    var garbage = DeviceRecord(id: "other")
    garbage.lastLogin = "9999"
    #expect(LastLogin(id: "mine", time: Self.time(20)).isLast(among: [garbage]))
  }
}
