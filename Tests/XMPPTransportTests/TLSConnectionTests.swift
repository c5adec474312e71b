import NIOCore
import NIOPosix
import Testing
import XMPPTransport

/// Connector and TLS handler together, over real sockets.
@Suite struct TLSConnectionTests {
  /// Answers every plaintext with itself; closes the connection without close_notify on "cut", with it on "end".
  private final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let server: MemoryTLSServer
    private var answered = 0

    init(_ server: MemoryTLSServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      server.receive(Array(unwrapInboundIn(data).readableBytesView))
      let text = server.received[answered...]
      answered = server.received.count
      if !text.isEmpty { server.write(Array(text)) }
      if text.elementsEqual("end".utf8) { server.close() }
      context.writeAndFlush(NIOAny(ByteBuffer(bytes: server.take())), promise: nil)
      if text.elementsEqual("cut".utf8) { context.close(promise: nil) }
    }
  }

  /// What comes out behind the TLS handler, as a sequence.
  private final class Feed: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let feed: AsyncStream<String>.Continuation

    init(_ feed: AsyncStream<String>.Continuation) { self.feed = feed }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      feed.yield(String(buffer: unwrapInboundIn(data)))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if let completed = event as? TLSHandshakeCompleted { feed.yield(completed.info.version) }
      if let closed = event as? TLSInputClosed { feed.yield("\(closed)") }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      feed.yield((error as? TransportError)?.code.rawValue ?? "\(error)")
    }

    func channelInactive(context: ChannelHandlerContext) { feed.finish() }
  }

  /// Everything that a client sees which sends `text`.
  private func converse(
    saying text: String, pin: (TestCertificate) -> [UInt8], upgrade: Bool = false
  ) async throws -> [String] {
    let certificate = try TestCertificate()
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Echo(MemoryTLSServer(certificate)))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let tls = try TLSContext(
      TLSConfiguration(domain: "example.org", pinnedCertificateSHA256: pin(certificate)))
    let (seen, feed) = AsyncStream.makeStream(of: String.self)
    let channel = try await TCPConnector().connect(
      to: ServerTarget(host: "127.0.0.1", port: server.localAddress?.port ?? 0, tls: .direct),
      on: MultiThreadedEventLoopGroup.singleton.any(), timeout: .seconds(60)
    ) { channel in
      if !upgrade { try channel.pipeline.syncOperations.addHandler(TLSHandler(tls)) }
      try channel.pipeline.syncOperations.addHandler(Feed(feed))
    }
    if upgrade {
      try await channel.eventLoop.submit {
        try channel.pipeline.syncOperations.addHandler(TLSHandler(tls), position: .first)
      }.get()
    }
    // May fail: the handshake decides.
    try? await channel.writeAndFlush(ByteBuffer(string: text))
    let events = await seen.reduce(into: []) { $0.append($1) }
    try await server.close()
    return events
  }

  @Test(
    "A TLS connection over sockets reports whether the server has ended it properly.",
    arguments: [false, true])
  func session(upgrade: Bool) async throws {
    #expect(
      try await converse(saying: "end", pin: \.sha256, upgrade: upgrade) == ["TLSv1.3", "end", "orderly"])
    #expect(
      try await converse(saying: "cut", pin: \.sha256, upgrade: upgrade) == ["TLSv1.3", "cut", "truncated"])
  }

  @Test("A refused certificate ends the connection before any data is sent.")
  func refused() async throws {
    let events = try await converse(saying: "end", pin: { _ in [UInt8](repeating: 0, count: 32) })
    #expect(events == ["certificateRejected"])
  }
}
