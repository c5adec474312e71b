import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import AgentSystem

@Suite struct NetworkWatchTests {
  private typealias Recorded = RecordedDatagram

  /// What was reported.
  private final class Reports: Sendable {
    private let all = NIOLockedValueBox([NetworkChange]())
    var value: [NetworkChange] { all.withLockedValue { $0 } }
    func add(_ change: NetworkChange) { all.withLockedValue { $0.append(change) } }
  }

  private func channel(_ reports: Reports, name: @escaping (UInt32) -> String? = { "v\($0)" }) throws
    -> EmbeddedChannel
  {
    let channel = EmbeddedChannel(handler: RouteHandler(name: name) { reports.add($0) })
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  @Test("A burst of route messages is reported as one network change.")
  func burst() throws {
    let reports = Reports()
    let channel = try channel(reports)
    for hex in [Recorded.address, Recorded.subnet, Recorded.defaultRoute] {
      try channel.writeInbound(Recorded.buffer(hex))
      channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
    }
    #expect(reports.value.isEmpty)
    channel.embeddedEventLoop.advanceTime(by: NetworkWatch.burst)
    #expect(reports.value == [NetworkChange(interface: "v3")])
    try channel.writeInbound(Recorded.buffer(Recorded.removed))
    channel.embeddedEventLoop.advanceTime(by: NetworkWatch.burst)
    #expect(reports.value.count == 2)
    _ = try channel.finish()
  }

  @Test("A repeated message, one of the loopback interface or an invalid one is not a network change.")
  func noise() throws {
    let reports = Reports()
    let channel = try channel(reports) { $0 == 3 ? "lo" : nil }
    for hex in Recorded.loopback + [Recorded.address, Recorded.multicast, Recorded.tentative, "00", ""] {
      try channel.writeInbound(Recorded.buffer(hex))
    }
    channel.embeddedEventLoop.advanceTime(by: .hours(1))
    #expect(reports.value.isEmpty)
    _ = try channel.finish()
  }

  @Test("A change of an interface that no longer exists is reported without a name.")
  func gone() throws {
    let reports = Reports()
    let channel = try channel(reports) { _ in nil }
    try channel.writeInbound(Recorded.buffer(Recorded.removed))
    channel.embeddedEventLoop.advanceTime(by: NetworkWatch.burst)
    #expect(reports.value == [NetworkChange(interface: nil)])
    _ = try channel.finish()
    #expect(RouteHandler.name(ofInterface: if_nametoindex("lo")) == "lo")
    #expect(RouteHandler.name(ofInterface: .max) == nil)
  }

  @Test("A suspension of the machine is reported once, however its clocks behave.")
  func sleep() {
    let asleep = NIOLockedValueBox(Duration.zero)
    var clock = SleepClock { asleep.withLockedValue { $0 } }
    let gains: [Duration] = [
      .zero, .milliseconds(1500), .milliseconds(1500), .seconds(40), .zero, .seconds(-3), .seconds(2),
    ]
    let told = gains.map { gain in
      asleep.withLockedValue { $0 += gain }
      return clock.hasSlept()
    }
    #expect(told == [false, false, false, true, false, false, true])
    var real = SleepClock()
    let hasSlept = real.hasSlept()
    #expect(!hasSlept)
  }

  @Test("The watch of this machine's network ends when its listener ends.")
  func real() async throws {
    let changes = NetworkWatch.changes(
      on: MultiThreadedEventLoopGroup.singleton.any(), log: Logger(label: "test"))
    let listening = Task {
      // What happens to the machine's network meanwhile is its own affair.
      for await _ in changes {}
      return Task.isCancelled
    }
    listening.cancel()
    #expect(await listening.value)
  }
}
