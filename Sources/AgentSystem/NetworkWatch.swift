import CLinux
import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A change of this machine's addresses or routes, or a sleep; existing connections may be dead.
package struct NetworkChange: Sendable, Equatable {
  /// The name of the interface, if known.
  package var interface: String?

  package init(interface: String? = nil) { self.interface = interface }
}

/// Reports changes of the network: by rtnetlink, and by comparing two clocks, one of which stops while the machine
/// sleeps.
///
/// It costs a file descriptor on an existing event loop, and reading the clocks every ten seconds.
package enum NetworkWatch {
  /// Changes within this time are reported as one.
  static let burst = TimeAmount.milliseconds(500)
  package static let interval = TimeAmount.seconds(10)

  /// - Parameters:
  ///   - clock: detects whether the machine has slept.
  ///   - interval: the time between two readings of the clock.
  package static func changes(
    on eventLoop: any EventLoop, log: Logger, clock: SleepClock = SleepClock(),
    interval: TimeAmount = interval
  ) -> AsyncStream<NetworkChange> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { feed in
      let clock = NIOLockedValueBox(clock)
      let timer = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
        if clock.withLockedValue({ $0.hasSlept() }) { feed.yield(NetworkChange()) }
      }
      let listening = NIOLockedValueBox<(any Channel)?>(nil)
      let isOver = NIOLockedValueBox(false)
      @Sendable func listen() {
        if isOver.withLockedValue({ $0 }) { return }
        open(on: eventLoop, feed).whenComplete { result in
          switch result {
          case .failure(let error):
            log.warning("the network cannot be watched for changes", metadata: ["error": "\(error)"])
          case .success(let channel):
            listening.withLockedValue { $0 = channel }
            // The kernel dropped messages, so the change is unknown.
            channel.closeFuture.whenComplete { _ in
              feed.yield(NetworkChange())
              eventLoop.scheduleTask(in: interval) { listen() }
            }
          }
        }
      }
      listen()
      feed.onTermination = { _ in
        isOver.withLockedValue { $0 = true }
        timer.cancel()
        listening.withLockedValue { $0 }?.close(promise: nil)
      }
    }
  }

  private static func open(
    on eventLoop: any EventLoop, _ feed: AsyncStream<NetworkChange>.Continuation
  ) -> EventLoopFuture<any Channel> {
    let descriptor = openRouteSocket()
    guard descriptor >= 0 else {
      return eventLoop.makeFailedFuture(IOError(errnoCode: errno, reason: "netlink"))
    }
    return NIOPipeBootstrap(group: eventLoop)
      // One read is one datagram.
      .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 1 << 15))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(RouteHandler { feed.yield($0) })
        }
      }
      .takingOwnershipOfDescriptor(input: descriptor)
      .map { $0 }
  }
}

extension NetworkWatch {
  /// Opens a socket on which the kernel reports changed addresses and routes (rtnetlink(7)); -1 and `errno` on failure.
  private static func openRouteSocket() -> CInt {
    let kind = SOCK_RAW.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    let descriptor = socket(AF_NETLINK, CInt(kind), NETLINK_ROUTE)
    guard descriptor >= 0 else { return -1 }
    var address = sockaddr_nl()
    address.nl_family = sa_family_t(AF_NETLINK)
    address.nl_groups = UInt32(
      RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)
    let bound = withUnsafeBytes(of: &address) { bytes in
      bytes.assumingMemoryBound(to: sockaddr.self).baseAddress.map {
        bind(descriptor, $0, socklen_t(bytes.count))
      }
    }
    guard bound == 0 else {
      close(descriptor)
      return -1
    }
    return descriptor
  }
}

/// Combines the messages of a burst into one change.
final class RouteHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let name: (UInt32) -> String?
  private let report: (NetworkChange) -> Void
  private var known = KnownNetwork()
  private var pending: NetworkChange?

  /// - Parameter name: returns the name of the interface with an index.
  init(
    name: @escaping (UInt32) -> String? = RouteHandler.name(ofInterface:),
    report: @escaping (NetworkChange) -> Void
  ) {
    self.name = name
    self.report = report
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    for message in RouteMessage.read(unwrapInboundIn(data)) where known.isNews(message) {
      let interface = message.subject.interface == 0 ? nil : name(message.subject.interface)
      if interface != "lo" { join(NetworkChange(interface: interface), context) }
    }
  }

  private func join(_ change: NetworkChange, _ context: ChannelHandlerContext) {
    let isFirst = pending == nil
    // A change with an interface name is more specific.
    if change.interface != nil || isFirst { pending = change }
    guard isFirst else { return }
    context.eventLoop.assumeIsolated().scheduleTask(in: NetworkWatch.burst) {
      guard let change = self.pending else { return }
      self.pending = nil
      self.report(change)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  static func name(ofInterface index: UInt32) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
    guard if_indextoname(index, &buffer) != nil else { return nil }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// Detects that the machine has slept: `CLOCK_BOOTTIME` then gains on `CLOCK_MONOTONIC` (clock_gettime(2)).
package struct SleepClock {
  /// A shorter sleep does not harm a connection.
  static let shortest = Duration.seconds(2)

  private let gain: @Sendable () -> Duration
  private var last: Duration

  /// - Parameter gain: returns how far the first clock is ahead of the second.
  package init(gain: @escaping @Sendable () -> Duration = { SleepClock.asleep }) {
    self.gain = gain
    last = gain()
  }

  /// Whether the machine has slept since the last call.
  mutating func hasSlept() -> Bool {
    let now = gain()
    defer { last = now }
    return now - last >= Self.shortest
  }

  private static let start = (continuous: ContinuousClock.now, suspending: SuspendingClock.now)

  /// The time asleep since the first call.
  private static var asleep: Duration {
    let start = start
    return (ContinuousClock.now - start.continuous) - (SuspendingClock.now - start.suspending)
  }
}
