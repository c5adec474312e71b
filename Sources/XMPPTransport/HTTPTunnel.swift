import NIOCore
import NIOExtras
import NIOHTTP1

extension TunnelEnd {
  /// HTTP CONNECT (RFC 9110 §9.3.6), with user and password if given (RFC 7617).
  ///
  /// - Parameter authority: `host:port`.
  func askHTTP(
    for authority: String, _ user: String?, _ password: String?, on channel: any Channel,
    by deadline: NIODeadline
  ) throws {
    var headers: HTTPHeaders = ["Host": authority]
    if let user { headers.add(name: "Proxy-Authorization", value: HTTPHeaders.basic(user, password)) }
    let connected = channel.eventLoop.makePromise(of: Void.self)
    let colon = authority.lastIndex(of: ":") ?? authority.endIndex
    try add(HTTPAnswerLimit(), to: channel)
    try add(HTTPRequestEncoder(), to: channel)
    try add(
      ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes)), to: channel)
    try add(HTTPStatusHandler(), to: channel)
    let pipeline = channel.pipeline.syncOperations
    connected.futureResult.assumeIsolated().whenComplete { result in
      switch result {
      case .success: self.succeed(in: pipeline)
      case .failure(let error as NIOHTTP1ProxyConnectHandler.Error) where error == .remoteConnectionClosed():
        self.fail(ChannelError.eof)
      case .failure(let error): self.fail(error)
      }
    }
    // The handler removes itself. ProxyTunnel enforces the deadline.
    try pipeline.addHandler(
      NIOHTTP1ProxyConnectHandler(
        targetHost: String(authority[..<colon]), targetPort: Int(authority[colon...].dropFirst()) ?? 0,
        headers: headers, deadline: deadline + .seconds(1), promise: connected), position: .before(self))
  }
}

/// Limits the size of a proxy's answer before it connects; its head should be short.
private final class HTTPAnswerLimit: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  static let maximum = 1 << 14
  private var count = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    count += unwrapInboundIn(data).readableBytes
    guard count <= Self.maximum else { return context.fireErrorCaught(TunnelError.tooMuch) }
    context.fireChannelRead(data)
  }
}

/// Keeps the status line of a proxy that refuses, for the error message.
private final class HTTPStatusHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPClientResponsePart

  private var isRefused = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data), !(200..<300).contains(head.status.code) {
      isRefused = true
      let reason = head.status.reasonPhrase
      var line = reason.isEmpty ? "\(head.status.code)" : "\(head.status.code) \(reason)"
      let escaped = line.withUTF8 { PrintableText.escaped($0) }
      context.fireErrorCaught(TunnelError.status(escaped))
    }
    if !isRefused { context.fireChannelRead(data) }
  }
}
