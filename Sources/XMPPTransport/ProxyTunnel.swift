import NIOCore
import NIOHTTP1

/// Opens a tunnel through a proxy before anything else is sent on a connection.
enum ProxyTunnel {
  /// Asks the proxy at the other end of `channel` to connect to `target`. Must be called on the event loop.
  ///
  /// - Parameter deadline: The time limit of the proxy's answer.
  /// - Returns: A future that succeeds on the event loop after the tunnel's handlers have been removed from the
  ///   pipeline. If it fails, with a `TransportError`, the channel is closed.
  static func open(
    through proxy: ProxyAddress, password: String?, to target: ServerTarget, on channel: any Channel,
    by deadline: NIODeadline
  ) -> EventLoopFuture<Void> {
    let established = channel.eventLoop.makePromise(of: Void.self)
    do {
      guard channel.isActive else { throw ChannelError.eof }
      // Any other host could inject a further request to the proxy.
      guard let address = HostAddress(target.description) else {
        throw TransportError(.invalidConfiguration, .says(.proxyTarget, target.host))
      }
      let end = TunnelEnd(established)
      try channel.pipeline.syncOperations.addHandler(end)
      switch proxy.kind {
      case .socks5:
        try end.askSOCKS(for: address, port: target.port, proxy.user, password, on: channel)
      case .http:
        try end.askHTTP(for: target.description, proxy.user, password, on: channel, by: deadline)
      }
      try channel.syncOptions?.setOption(.autoRead, value: true)
    } catch {
      established.fail(error)
    }
    let expiry = channel.eventLoop.scheduleTask(deadline: deadline) {
      established.fail(ChannelError.connectTimeout(.zero))
    }
    return established.futureResult.flatMapErrorThrowing { error in
      channel.close(promise: nil)
      throw TransportError(error, through: proxy)
    }
    .always { _ in expiry.cancel() }
  }
}

/// The last handler of a tunnel. When the tunnel is established, it removes itself and the handlers before it.
final class TunnelEnd: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let established: EventLoopPromise<Void>
  private var handlers: [any RemovableChannelHandler] = []

  init(_ established: EventLoopPromise<Void>) { self.established = established }

  /// Adds a handler directly before this one, after those added earlier.
  func add(_ handler: some RemovableChannelHandler, to channel: any Channel) throws {
    handlers.append(handler)
    try channel.pipeline.syncOperations.addHandler(handler, position: .before(self))
  }

  /// Ends the tunnel's setup: the proxy has connected to the target.
  func succeed(in pipeline: ChannelPipeline.SynchronousOperations) {
    let removed = handlers.map { pipeline.removeHandler($0) }
    handlers = []
    EventLoopFuture.andAllSucceed(removed, on: pipeline.eventLoop).assumeIsolated().whenComplete { result in
      pipeline.removeHandler(self, promise: nil)
      self.established.completeWith(result)
    }
  }

  func fail(_ error: any Error) { established.fail(error) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { fail(TunnelError.unaskedData) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error) }

  func channelInactive(context: ChannelHandlerContext) {
    fail(ChannelError.eof)
    context.fireChannelInactive()
  }
}

/// The failure of a proxy.
enum TunnelError: Error, Equatable {
  /// The proxy sent data after its answer, before anything was sent to the target.
  case unaskedData
  case tooMuch
  /// The escaped status line of HTTP.
  case status(String)
  /// The proxy refused user and password (RFC 1929 §2).
  case wrongPassword
  /// The proxy accepts none of the offered authentication methods, of which this is the number (RFC 1928 §3).
  case noMethod(offered: Int)
  /// The proxy's error code (RFC 1928 §6).
  case reply(UInt8)
  case garbage
}

extension TransportError {
  /// The error for a failure of a proxy, with a one-line reason.
  init(_ error: any Error, through proxy: ProxyAddress) {
    let reason: ErrorReason
    switch error {
    case let error as TransportError where [.invalidConfiguration, .cancelled].contains(error.code):
      self = error
      return
    case let error as TransportError: reason = error.reason
    case let error as TunnelError: reason = error.reason(proxy)
    case ChannelError.connectTimeout: reason = .says(.proxyTimedOut, proxy)
    case HTTPParserError.headerOverflow: reason = TunnelError.tooMuch.reason(proxy)
    case ChannelError.eof, HTTPParserError.invalidEOFState, is IOError:
      reason = .says(.proxyClosed, proxy)
    default: reason = TunnelError(socks: error).reason(proxy)
    }
    self.init(.proxyFailed, reason, underlying: error)
  }
}

extension TunnelError {
  func reason(_ proxy: ProxyAddress) -> ErrorReason {
    switch self {
    case .unaskedData: .says(.proxyUnasked, proxy)
    case .tooMuch: .says(.proxyAnswerTooLong, proxy)
    case .status(let line): .says(.proxyAnswered, proxy, line)
    case .wrongPassword: .says(.proxyRefused, proxy)
    case .noMethod(offered: 1): .says(.proxyWantsPassword, proxy)
    case .noMethod: .says(.proxyTakesNoPassword, proxy)
    case .reply(let code): .says(.proxyAnswered, proxy, Self.reason(reply: code))
    case .garbage: .says(proxy.kind == .socks5 ? .notSOCKS : .notHTTPProxy, proxy)
    }
  }

  /// The sentence for a SOCKS5 error code (RFC 1928 §6).
  private static func reason(reply code: UInt8) -> ErrorReason {
    switch code {
    case 1: .says(.socksFailure)
    case 2: .says(.socksNotAllowed)
    case 3: .says(.socksNetwork)
    case 4: .says(.socksHost)
    case 5: .says(.socksRefused)
    case 6: .says(.socksTTL)
    case 7: .says(.socksCommand)
    case 8: .says(.socksAddress)
    default: .says(.socksOther, code)
    }
  }
}
