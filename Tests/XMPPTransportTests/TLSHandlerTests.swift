import NIOCore
import NIOEmbedded
import Testing
import XMPPTransport

@Suite final class TLSHandlerTests {
  /// What a handler behind the TLS handler sees.
  private final class Observer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var plaintext = ""
    var events: [String] = []
    var sessions: [TLSSession] = []
    var onHandshake: ((any Channel) -> Void)?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      plaintext += String(buffer: unwrapInboundIn(data))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      switch event {
      case let completed as TLSHandshakeCompleted:
        events.append(completed.info.version)
        onHandshake?(context.channel)
      case let received as TLSSessionReceived: sessions.append(received.session)
      case let closed as TLSInputClosed: events.append("\(closed)")
      case let event as ChannelEvent: events.append("\(event)")
      default: break
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      events.append((error as? TransportError)?.code.rawValue ?? "\(error)")
    }

    func channelInactive(context: ChannelHandlerContext) { events.append("inactive") }
  }

  private let certificate: TestCertificate
  private let server: MemoryTLSServer
  private let channel = EmbeddedChannel()
  private let observer = Observer()

  init() throws {
    certificate = try TestCertificate()
    server = try MemoryTLSServer(certificate)
  }

  deinit { _ = try? channel.finish(acceptAlreadyClosed: true) }

  private func start(pin: [UInt8]? = nil, connectFirst: Bool = false) throws {
    let configuration = TLSConfiguration(
      domain: "example.org", pinnedCertificateSHA256: pin ?? certificate.sha256)
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 5222)
    if connectFirst { channel.connect(to: address, promise: nil) }
    try channel.pipeline.syncOperations.addHandler(TLSHandler(TLSContext(configuration)))
    try channel.pipeline.syncOperations.addHandler(observer)
    if !connectFirst { channel.connect(to: address, promise: nil) }
  }

  /// Carries bytes between the channel and the server until both are silent.
  private func talk() throws { try talk(channel, server) }

  private func talk(_ channel: EmbeddedChannel, _ server: MemoryTLSServer) throws {
    while true {
      while let sent = try channel.readOutbound(as: ByteBuffer.self) {
        server.receive(Array(sent.readableBytesView))
      }
      let answer = server.take()
      if answer.isEmpty { return }
      for start in stride(from: 0, to: answer.count, by: 1_000) {
        channel.pipeline.fireChannelRead(ByteBuffer(bytes: answer[start...].prefix(1_000)))
        channel.pipeline.fireChannelReadComplete()
      }
    }
  }

  @Test(
    "The handshake starts by itself on a new connection and on an existing one.", arguments: [false, true])
  func handshake(connectFirst: Bool) throws {
    try start(connectFirst: connectFirst)
    try talk()
    #expect(observer.events == ["TLSv1.3"])
    #expect(server.serverName == "example.org")
    server.write(Array("<features/>".utf8))
    try talk()
    #expect(observer.plaintext == "<features/>")
  }

  @Test(
    "The handler reports the sessions of the server, and resumes one of them.",
    arguments: [0x0303, 0x0304] as [Int32])
  func resumption(version: Int32) throws {
    var configuration = TLSConfiguration(
      domain: "example.org", pinnedCertificateSHA256: certificate.sha256)
    configuration.resumesSessions = true
    let context = try TLSContext(configuration)
    var server = try MemoryTLSServer(certificate, versions: version...version)
    for isResumed in [false, true] {
      let channel = EmbeddedChannel()
      let observer = Observer()
      try channel.pipeline.syncOperations.addHandler(
        TLSHandler(context, resuming: self.observer.sessions.last))
      try channel.pipeline.syncOperations.addHandler(observer)
      channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 5222), promise: nil)
      try talk(channel, server)
      #expect(server.isResumed == isResumed)
      #expect(!observer.sessions.isEmpty)
      self.observer.sessions = observer.sessions
      _ = try channel.finish(acceptAlreadyClosed: true)
      server = try MemoryTLSServer(again: server)
    }
  }

  @Test("Data that is written before the handshake is sent after it, and its promises succeed.")
  func earlyWrite() throws {
    try start()
    let first = channel.eventLoop.makePromise(of: Void.self)
    let second = channel.eventLoop.makePromise(of: Void.self)
    channel.write(ByteBuffer(string: "<a/>"), promise: first)
    channel.writeAndFlush(ByteBuffer(string: "<b/>"), promise: second)
    try talk()
    #expect(server.received == Array("<a/><b/>".utf8))
    try first.futureResult.wait()
    try second.futureResult.wait()
  }

  @Test("Several writes before one flush are sent in one record.")
  func coalescing() throws {
    try start()
    try talk()
    channel.write(ByteBuffer(string: "<a/>"), promise: nil)
    channel.write(ByteBuffer(string: "<b/>"), promise: nil)
    #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
    channel.flush()
    let sent = try #require(try channel.readOutbound(as: ByteBuffer.self))
    // Header 5, content 8, type 1, tag 16.
    #expect(sent.readableBytes == 30)
  }

  @Test("A record ends at the end of a write unless the write is too large for one record.")
  func recordEnds() throws {
    try start()
    try talk()
    for size in [5000, 3000, 6000, 20_000, 10] {
      channel.write(ByteBuffer(repeating: UInt8(ascii: " "), count: size), promise: nil)
    }
    channel.flush()
    var sent = try #require(try channel.readOutbound(as: ByteBuffer.self))
    var sizes: [Int] = []
    while let header = sent.readMultipleIntegers(as: (UInt8, UInt16, UInt16).self) {
      sent.moveReaderIndex(forwardBy: Int(header.2))
      // Type 1, tag 16.
      sizes.append(Int(header.2) - 17)
    }
    #expect(sizes == [8000, 6000, 16_384, 20_000 - 16_384, 10])
  }

  @Test("A handler can write and close as soon as the handshake completes.")
  func reentrance() throws {
    observer.onHandshake = { channel in
      channel.writeAndFlush(ByteBuffer(string: "<bye/>"), promise: nil)
      channel.close(promise: nil)
    }
    try start()
    try talk()
    #expect(server.received == Array("<bye/>".utf8))
    #expect(server.isClosed)
    #expect(observer.events == ["TLSv1.3", "inactive"])
  }

  @Test("A refused certificate is reported to both sides and closes the channel.")
  func refused() throws {
    try start(pin: [UInt8](repeating: 0, count: 32))
    let write = channel.eventLoop.makePromise(of: Void.self)
    channel.writeAndFlush(ByteBuffer(string: "secret"), promise: write)
    try? talk()
    #expect(observer.events == ["certificateRejected", "inactive"])
    #expect(server.received.isEmpty)
    #expect(throws: TransportError.self) { try write.futureResult.wait() }
    #expect(!channel.isActive)
  }

  @Test("Bytes that are not TLS close the channel.")
  func plaintext() throws {
    try start()
    channel.pipeline.fireChannelRead(ByteBuffer(string: "<stream:error/>"))
    #expect(observer.events == ["tlsFailed", "inactive"])
    #expect(observer.plaintext.isEmpty)
  }

  @Test("A connection that ends during the handshake is reported as an error.")
  func endDuringHandshake() throws {
    try start()
    channel.close(promise: nil)
    #expect(observer.events == ["inactive"])

    let other = EmbeddedChannel()
    let seen = Observer()
    try other.pipeline.syncOperations.addHandler(
      TLSHandler(TLSContext(TLSConfiguration(domain: "example.org"))))
    try other.pipeline.syncOperations.addHandler(seen)
    other.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 5222), promise: nil)
    other.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(seen.events.first == "tlsClosed")
    #expect(!other.isActive)
    _ = try other.finish(acceptAlreadyClosed: true)
  }

  @Test("The server's close_notify is answered and closes the channel after its last data.")
  func serverCloses() throws {
    try start()
    try talk()
    server.write(Array("</stream:stream>".utf8))
    server.close()
    try talk()
    #expect(observer.plaintext == "</stream:stream>")
    #expect(observer.events == ["TLSv1.3", "orderly", "inactive"])
    #expect(server.isClosed)
  }

  @Test("Data can still be written after the server's close_notify if half-closure is allowed.")
  func halfClosure() throws {
    channel.allowRemoteHalfClosure = true
    try start()
    try talk()
    server.close()
    try talk()
    #expect(observer.events == ["TLSv1.3", "orderly", "inputClosed"])
    channel.writeAndFlush(ByteBuffer(string: "more"), promise: nil)
    try talk()
    #expect(server.received == Array("more".utf8))
    channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(observer.events.count == 3)
    channel.close(promise: nil)
    try talk()
    #expect(server.isClosed)
  }

  @Test("An end without close_notify is reported as a truncation, which is not an error.")
  func truncation() throws {
    try start()
    try talk()
    channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(observer.events == ["TLSv1.3", "truncated", "inputClosed"])
  }

  @Test("Closing the channel sends pending data and close_notify, and later writes fail.")
  func clientCloses() throws {
    try start()
    try talk()
    channel.write(ByteBuffer(string: "last"), promise: nil)
    channel.close(promise: nil)
    try talk()
    #expect(server.received == Array("last".utf8))
    #expect(server.isClosed)
    #expect(throws: (any Error).self) { try channel.writeAndFlush(ByteBuffer(string: "late")).wait() }
    #expect(observer.events == ["TLSv1.3", "inactive"])
  }

  @Test("A large write arrives completely.")
  func large() throws {
    try start()
    try talk()
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    try talk()
    #expect(server.received == bytes)
  }

  @Test("A handler with manual reads gets another read after bytes that contained no plaintext.")
  func readingByHand() throws {
    final class Reads: ChannelOutboundHandler {
      typealias OutboundIn = ByteBuffer
      var count = 0
      func read(context: ChannelHandlerContext) {
        count += 1
        context.read()
      }
    }
    let reads = Reads()
    try channel.pipeline.syncOperations.addHandler(reads)
    try channel.syncOptions?.setOption(.autoRead, value: false)
    try start()
    channel.read()
    let before = reads.count
    try talk()
    #expect(observer.events == ["TLSv1.3"])
    #expect(reads.count > before)
    server.write(Array("<a/>".utf8))
    try talk()
    let after = reads.count
    channel.pipeline.fireChannelReadComplete()
    #expect(reads.count == after)
  }
}
