import NIOCore
import Testing

@testable import AgentSystem

/// Datagrams as Linux 6.1 has sent them.
enum RecordedDatagram {
  /// `ip link set lo up`: 127.0.0.1 and ::1, and routes to them.
  static let loopback = [
    "4c000000140000000000000000000000020880fe01000000080001007f000001080002007f000001070003006c6f00000800080080000000"
      + "14000600ffffffffffffffffa1232900a1232900",
    "3c00000018000006000000000000000002200000ff02fe020000000008000f00ff000000080001007f000001080007007f00000108000400"
      + "01000000",
    "500000001400000000000000000000000a8080fe0100000014000100000000000000000000000000000000011400060"
      + "0ffffffffffffffffa1232900a1232900080008008000000005000b0001000000",
  ]
  /// `ip addr add 10.9.0.2/24 dev v0`.
  static let address =
    "4c000000140000009f6d016bce6300000218800003000000080001000a090002080002000a0900020700030076300000080008008000000014"
    + "000600ffffffffffffffff8e2529008e252900"
  /// Its route to the subnet.
  static let subnet =
    "3c00000018000006000000000000000002180000fe02fd010000000008000f00fe000000080001000a090000080007000a0900020800040003"
    + "000000"
  /// `ip addr add 2001:db8::2/64 dev v0`: to be checked first.
  static let tentative =
    "480000001400000000000000000000000a40c000030000001400010020010db800000000000000000000000214000600ffffffffffffffffb8"
    + "252900b825290008000800c0000000"
  /// The same, checked.
  static let checked =
    "480000001400000000000000000000000a408000030000001400010020010db800000000000000000000000214000600ffffffffffffffffb8"
    + "252900b82529000800080080000000"
  /// Multicast over the same interface.
  static let multicast =
    "740000001800000600000000000000000a080000ff0200050000000008000f00ff00000014000100ff00000000000000000000000000000008"
    + "00060000010000080004000300000024000c000000000000000000000000000000000000000000000000000000000000000000050014000000"
    + "0000"
  /// `ip route add default via 10.9.0.1`.
  static let defaultRoute =
    "3400000018000006a26d016b3264000002000000fe0300010000000008000f00fe000000080005000a0900010800040003000000"
  /// `ip addr del 10.9.0.2/24 dev v0`.
  static let removed =
    "4c00000015000000a36d016b406400000218800003000000080001000a090002080002000a0900020700030076300000080008008000000014"
    + "000600ffffffffffffffff8e2529008e252900"

  static func bytes(_ hex: String) -> [UInt8] {
    stride(from: 0, to: hex.utf8.count, by: 2).map { index in
      let start = hex.index(hex.startIndex, offsetBy: index)
      return UInt8(hex[start...].prefix(2), radix: 16) ?? 0
    }
  }

  static func buffer(_ hex: String...) -> ByteBuffer { ByteBuffer(bytes: hex.flatMap(bytes)) }
}

@Suite struct RouteMessageTests {
  private typealias Recorded = RecordedDatagram

  private func read(_ hex: String...) -> [RouteMessage] {
    RouteMessage.read(ByteBuffer(bytes: hex.flatMap(Recorded.bytes)))
  }

  @Test("An address that is added and then removed is recognised as the same one.")
  func address() throws {
    let new = try #require(read(Recorded.address).first)
    #expect(new.isNew)
    #expect(!new.subject.isRoute)
    #expect(new.subject.family == 2)
    #expect(new.subject.prefixLength == 24)
    #expect(new.subject.interface == 3)
    #expect(new.subject.addresses == [[1, 10, 9, 0, 2], [2, 10, 9, 0, 2]])
    let old = try #require(read(Recorded.removed).first)
    #expect(!old.isNew)
    #expect(old.subject == new.subject)
  }

  @Test("A route is read with its gateway and its interface.")
  func route() throws {
    let route = try #require(read(Recorded.defaultRoute).first)
    #expect(route.isNew)
    #expect(route.subject.isRoute)
    #expect(route.subject.prefixLength == 0)
    #expect(route.subject.interface == 3)
    #expect(route.subject.addresses == [[5, 10, 9, 0, 1]])
  }

  @Test("A tentative address is ignored, and so are loopback addresses and multicast routes.")
  func passedOver() {
    #expect(read(Recorded.tentative).isEmpty)
    #expect(read(Recorded.checked).count == 1)
    #expect(read(Recorded.multicast).isEmpty)
    for hex in Recorded.loopback { #expect(read(hex).isEmpty) }
  }

  @Test("A datagram with several route messages is read completely.")
  func several() {
    #expect(
      read(Recorded.address, Recorded.multicast, Recorded.subnet, Recorded.removed).map(\.isNew) == [
        true, true, false,
      ])
  }

  @Test("A truncated route message is skipped, wherever it is cut.")
  func cut() {
    let bytes = Recorded.bytes(Recorded.address) + Recorded.bytes(Recorded.defaultRoute)
    for length in 0..<bytes.count {
      let messages = RouteMessage.read(ByteBuffer(bytes: bytes.prefix(length)))
      #expect(messages.count == (length < Recorded.bytes(Recorded.address).count ? 0 : 1))
    }
  }

  @Test("A route message with impossible lengths never traps.")
  func garbage() {
    var generator = SystemRandomNumberGenerator()
    for hex in [Recorded.address, Recorded.defaultRoute, Recorded.multicast] {
      let good = Recorded.bytes(hex)
      for index in good.indices {
        for value: UInt8 in [0, 1, 3, 0x7F, 0xFF] {
          var bytes = good
          bytes[index] = value
          #expect(RouteMessage.read(ByteBuffer(bytes: bytes)).count <= good.count / 4)
        }
      }
      for _ in 1...1000 {
        let bytes = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
          UInt8.random(in: 0...255, using: &generator)
        }
        #expect(RouteMessage.read(ByteBuffer(bytes: bytes)).count <= 13)
      }
    }
  }

  @Test("A repeated address is not a change, but one that was removed and added again is.")
  func known() throws {
    var known = KnownNetwork()
    let new = try #require(read(Recorded.address).first)
    let old = try #require(read(Recorded.removed).first)
    #expect(
      [new, new, old, old, new, new].map { known.isNews($0) } == [true, false, true, true, true, false])
  }

  @Test("The number of remembered addresses is limited.")
  func bound() throws {
    var known = KnownNetwork()
    var message = try #require(read(Recorded.address).first)
    for index in 0..<UInt32(KnownNetwork.limit) {
      message.subject.interface = index
      let isNews = known.isNews(message)
      #expect(isNews)
    }
    message.subject.interface = 0
    let isForgotten = known.isNews(message)
    #expect(isForgotten)
  }
}
