import Testing
import XMPPXML

@testable import XMPPFeatures

@Suite("The record of a device policy", .timeLimit(.minutes(10)))
struct DevicePolicyRecordTests {
  @Test("The record of a device policy is read as it was written.")
  func roundTrip() {
    let record = DevicePolicyRecord(rule: "single", check: "last", limits: [1: 0, 100: 4])
    #expect(DevicePolicyRecord(record.item) == record)
    #expect(DeviceRecord(record.item) == nil)
  }

  @Test(
    "The record of a device policy leaves out limits that are out of bounds, and is ignored without a rule."
  )
  func bounds() {
    let record = DevicePolicyRecord(rule: "all", limits: [0: 1, 101: 1, 60: 5, 61: -1, 62: 4])
    #expect(DevicePolicyRecord(record.item)?.limits == [62: 4])
    let empty = XMLElement("policy", namespace: DeviceRecord.namespace)
    #expect(DevicePolicyRecord(PubSub.Item(DevicePolicyRecord.id, empty)) == nil)
    #expect(DevicePolicyRecord(PubSub.Item("another", record.item.payload)) == nil)
  }
}
