import NIOCore
import NIOSOCKS

extension TunnelEnd {
  /// SOCKS5 (RFC 1928): the proxy receives the host name and resolves it.
  func askSOCKS(
    for address: HostAddress, port: Int, _ user: String?, _ password: String?, on channel: any Channel
  ) throws {
    let target =
      if IPAddress.isValid(address.host) {
        SOCKSAddress.address(try SocketAddress(ipAddress: address.host, port: port))
      } else {
        SOCKSAddress.domain(address.host, port: port)
      }
    if let user { try add(SOCKSAuthenticationHandler(user: user, password: password ?? ""), to: channel) }
    try add(SOCKSClientHandler(targetAddress: target), to: channel)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is SOCKSProxyEstablishedEvent { succeed(in: context.pipeline.syncOperations) }
    context.fireUserInboundEventTriggered(event)
  }
}

/// Adds authentication with user and password (RFC 1929) between a SOCKS5 proxy and a client without support for it.
struct SOCKSAuthentication {
  enum Action: Equatable {
    case wait
    /// Send these octets to the proxy.
    case send([UInt8])
    /// Pass these octets to the client, as if the proxy had required no authentication.
    case forward([UInt8])
  }

  private enum State {
    case method, status, over
  }

  /// The greeting with both methods: no authentication, and user and password (RFC 1928 §3).
  static let greeting: [UInt8] = [5, 2, 0, 2]

  private let request: [UInt8]
  private var state = State.method
  private var input: [UInt8] = []

  /// - Throws: `invalidConfiguration` for a user or password of more than 255 octets.
  init(user: String, password: String) throws(TransportError) {
    let parts = [Array(user.utf8), Array(password.utf8)]
    guard parts.allSatisfy({ $0.count <= 255 }) else {
      throw TransportError(
        .invalidConfiguration, .says(.proxyCredentials))
    }
    request = [1] + parts.flatMap { [UInt8($0.count)] + $0 }
  }

  /// Handles octets from the proxy until authentication is complete.
  mutating func received(_ bytes: some Sequence<UInt8>) throws(TunnelError) -> Action {
    input += bytes
    guard state != .over else { return forward(input) }
    guard input.count >= 2 else { return .wait }
    switch (state, input[0], input[1]) {
    case (.method, 5, 0): return forward(input)
    case (.method, 5, 2):
      state = .status
      input.removeFirst(2)
      // The proxy must not send more before it receives the credentials.
      guard input.isEmpty else { throw .garbage }
      return .send(request)
    case (.method, 5, _): throw .noMethod(offered: 2)
    case (.status, 1, 0): return forward([5, 0] + input.dropFirst(2))
    case (.status, 1, _): throw .wrongPassword
    default: throw .garbage
    }
  }

  private mutating func forward(_ bytes: [UInt8]) -> Action {
    state = .over
    input = []
    return .forward(bytes)
  }
}

private final class SOCKSAuthenticationHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var authentication: SOCKSAuthentication
  private var hasGreeted = false

  init(user: String, password: String) throws {
    authentication = try SOCKSAuthentication(user: user, password: password)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if hasGreeted { return context.write(data, promise: promise) }
    hasGreeted = true
    context.write(wrapOutboundOut(ByteBuffer(bytes: SOCKSAuthentication.greeting)), promise: promise)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    do {
      switch try authentication.received(unwrapInboundIn(data).readableBytesView) {
      case .wait: break
      case .send(let bytes):
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
      case .forward(let bytes): context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: bytes)))
      }
    } catch {
      context.fireErrorCaught(error)
    }
  }
}

extension TunnelError {
  /// The error for SwiftNIO's error about a SOCKS5 proxy.
  init(socks error: any Error) {
    switch error {
    case let error as SOCKSError.ConnectionFailed: self = .reply(error.reply.value)
    case is SOCKSError.InvalidAuthenticationSelection: self = .noMethod(offered: 1)
    default: self = .garbage
    }
  }
}
