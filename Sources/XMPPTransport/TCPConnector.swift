import CResolv
import Glibc
import NIOCore
import NIOPosix

/// Opens TCP connections, racing the addresses of a host (Happy Eyeballs, RFC 8305).
public struct TCPConnector: Sendable {
  public init() {}

  /// Connects to one target.
  ///
  /// - Parameters:
  ///   - proxy: A proxy that resolves the target's name and connects to it, in place of this machine.
  ///   - password: The password of the proxy's user.
  ///   - timeout: The time limit for the name resolution and all addresses together; with a proxy, for the connection
  ///     to the proxy and for its answer.
  ///   - pipeline: Called once, on the event loop, with the connected channel, before any data is read. The channel is
  ///     active; handlers that are added here may or may not receive `channelActive`.
  /// - Returns: The channel, which reads automatically.
  /// - Throws: `unknownHost`, `resolverFailed`, `connectionRefused`, `unreachable`, `timedOut`, `connectionReset`,
  ///   `connectionFailed`, `invalidConfiguration`, `cancelled`, or the `TransportError` that `pipeline` throws. With a
  ///   proxy, `proxyFailed` replaces the network errors.
  public func connect(
    to target: ServerTarget, through proxy: ProxyAddress? = nil, password: String? = nil,
    on eventLoop: any EventLoop, timeout: TimeAmount,
    pipeline: @escaping @Sendable (any Channel) throws -> Void
  ) async throws(TransportError) -> any Channel {
    guard (1...65_535).contains(target.port) else {
      throw TransportError(.invalidConfiguration, .says(.noPort, target.port))
    }
    guard DescriptorReserve.leaves(DescriptorReserve.ofConnections) else {
      throw TransportError(.connectionFailed, .says(.tooManyFiles, target))
    }
    let connection = ClientBootstrap(group: eventLoop)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.socketOption(.so_keepalive), value: 1)
      .channelOption(.autoRead, value: false)
      .connectTimeout(timeout)
      .connect(host: proxy?.host ?? target.host, port: proxy?.port ?? target.port)
    let ready = eventLoop.makePromise(of: (any Channel).self)
    let deadline = NIODeadline.now() + timeout
    let way = connection.flatMap { channel -> EventLoopFuture<any Channel> in
      guard let proxy else { return eventLoop.makeSucceededFuture(channel) }
      return ProxyTunnel.open(through: proxy, password: password, to: target, on: channel, by: deadline)
        .map { channel }
    }
    way.whenComplete { result in
      switch result {
      case .failure(let error): ready.fail(error)
      case .success(let channel):
        do {
          // A handler that is added to an inactive channel would not be notified of its end.
          guard channel.isActive else {
            throw TransportError(.connectionReset, .says(.endedAtOnce, target))
          }
          try pipeline(channel)
          try channel.syncOptions?.setOption(.autoRead, value: true)
          ready.succeed(channel)
        } catch {
          channel.close(promise: nil)
          ready.fail(error)
        }
      }
    }
    do {
      return try await withTaskCancellationHandler {
        try await ready.futureResult.get()
      } onCancel: {
        // The attempt cannot be cancelled. It ends by itself, and its connection is closed.
        ready.fail(CancellationError())
        connection.whenSuccess { $0.close(promise: nil) }
      }
    } catch {
      guard let proxy else { throw TransportError(error, of: target) }
      let target = ServerTarget(host: proxy.host, port: proxy.port, tls: .startTLS)
      throw TransportError(TransportError(error, of: target), through: proxy)
    }
  }
}

extension TransportError {
  /// The error for SwiftNIO's error about a new or existing connection to `target`.
  public init(_ error: any Error, of target: ServerTarget) {
    switch error {
    case let error as TransportError: self = error
    case let error as NIOConnectionError:
      let causes =
        error.connectionErrors.isEmpty
        ? [error.dnsAError, error.dnsAAAAError].compactMap(\.self) : error.connectionErrors.map(\.error)
      self =
        Self.mostTelling(causes.map { TransportError($0, of: target) })
        ?? TransportError(.connectionFailed, .says(.failed, target), underlying: error)
    case let error as SocketAddressError.UnknownHost:
      if resolv_is_unknown_host(Int32(truncatingIfNeeded: error.errorCode)) != 0 {
        self.init(.unknownHost, .says(.unknownHost, target.host), underlying: error)
      } else {
        self.init(
          .resolverFailed, .says(.lookupFailed, target.host, error.errorDescription),
          underlying: error)
      }
    case ChannelError.connectTimeout:
      self.init(.timedOut, .says(.timedOut, target), underlying: error)
    case let error as IOError:
      let reason = strerror(error.errnoCode).map { String(cString: $0) } ?? "error \(error.errnoCode)"
      self.init(
        Code(errno: error.errnoCode), .says(.failedWith, target, reason), underlying: error)
    case is CancellationError:
      self.init(.cancelled, .says(.attemptCancelled, target), underlying: error)
    default:
      self.init(.connectionFailed, .says(.failedWith, target, "\(error)"), underlying: error)
    }
  }

  /// The error for SwiftNIO's error about an existing connection.
  public init(ofBroken error: any Error) {
    switch error {
    case let error as TransportError: self = error
    case let error as IOError:
      let reason = strerror(error.errnoCode).map { String(cString: $0) } ?? "error \(error.errnoCode)"
      self.init(Code(errno: error.errnoCode), .says(.broke, reason), underlying: error)
    default: self.init(.connectionFailed, .says(.broke, "\(error)"), underlying: error)
    }
  }

  /// The most informative of the failures of several addresses: the one that came closest to a server.
  static func mostTelling(_ failures: [TransportError]) -> TransportError? {
    let order: [Code] = [.connectionRefused, .connectionReset, .timedOut, .unreachable]
    func rank(_ failure: TransportError) -> Int { order.firstIndex(of: failure.code) ?? order.count }
    return failures.min { rank($0) < rank($1) }
  }
}

extension TransportError.Code {
  /// The code for a failed system call of a TCP connection.
  init(errno: CInt) {
    switch errno {
    case ECONNREFUSED: self = .connectionRefused
    case ECONNRESET, ECONNABORTED, EPIPE: self = .connectionReset
    case ETIMEDOUT: self = .timedOut
    case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL: self = .unreachable
    default: self = .connectionFailed
    }
  }
}
