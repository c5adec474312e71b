import CResolv
import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import XMPPTransport

@Suite struct TCPConnectorTests {
  private final class Greeter: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
      context.writeAndFlush(NIOAny(ByteBuffer(string: "hello")), promise: nil)
    }
  }

  private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let first: EventLoopPromise<String>

    init(_ first: EventLoopPromise<String>) { self.first = first }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      first.succeed(String(buffer: unwrapInboundIn(data)))
    }

    func channelInactive(context: ChannelHandlerContext) { first.fail(ChannelError.eof) }
  }

  private let loop = MultiThreadedEventLoopGroup.singleton.any()

  private func server() async throws -> (channel: any Channel, port: Int) {
    let channel = try await ServerBootstrap(group: loop)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Greeter()) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    return (channel, channel.localAddress?.port ?? 0)
  }

  private func connect(_ host: String, _ port: Int, within timeout: TimeAmount = .seconds(60)) async throws
    -> any Channel
  {
    try await TCPConnector().connect(
      to: ServerTarget(host: host, port: port, tls: .startTLS), on: loop, timeout: timeout
    ) { _ in }
  }

  private func failure(_ host: String, _ port: Int, within timeout: TimeAmount = .seconds(60)) async
    -> TransportError?
  {
    do {
      let channel = try await connect(host, port, within: timeout)
      channel.close(promise: nil)
      return nil
    } catch { return error as? TransportError }
  }

  @Test(
    "The pipeline is complete before the first byte arrives, and Nagle's algorithm is off.",
    arguments: ["127.0.0.1", "localhost"])
  func connected(host: String) async throws {
    let (server, port) = try await server()
    let first = loop.makePromise(of: String.self)
    let channel = try await TCPConnector().connect(
      to: ServerTarget(host: host, port: port, tls: .direct), on: loop, timeout: .seconds(60)
    ) { try $0.pipeline.syncOperations.addHandler(Collector(first)) }
    #expect(try await first.futureResult.get() == "hello")
    #expect(channel.eventLoop === loop)
    #expect(try await channel.getOption(.tcpOption(.tcp_nodelay)).get() == 1)
    #expect(try await channel.getOption(.socketOption(.so_keepalive)).get() == 1)
    try await channel.close()
    try await server.close()
  }

  @Test("A closed port is reported as a refused connection.")
  func refused() async throws {
    // Nobody listens on the port of tcpmux, and no other test is given it.
    let port = 1
    let error = await failure("127.0.0.1", port)
    #expect(error?.code == .connectionRefused)
    #expect(error?.message.contains("127.0.0.1:\(port)") == true)
    #expect(await failure("localhost", port)?.code == .connectionRefused)
  }

  @Test("A connection attempt without an answer ends at the time limit.")
  func blackHole() async throws {
    // A full accept queue: the kernel drops further SYNs.
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let fillers = withUnsafeMutableBytes(of: &address) { bytes -> [Int32] in
      guard let pointer = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return [] }
      bind(listener, pointer, length)
      listen(listener, 0)
      getsockname(listener, pointer, &length)
      return (0..<3).map { _ in
        let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        _ = Glibc.connect(filler, pointer, length)
        return filler
      }
    }
    defer { for filler in fillers { close(filler) } }
    let error = await failure(
      "127.0.0.1", Int(UInt16(bigEndian: address.sin_port)), within: .milliseconds(200))
    #expect(error?.code == .timedOut)
  }

  @Test(
    "A host with an impossible name is reported as unknown.",
    arguments: ["a..b", String(repeating: "a", count: 64) + ".org"])
  func unknownHost(host: String) async {
    #expect(await failure(host, 5222)?.code == .unknownHost)
  }

  @Test("A name service that fails is not reported as an unknown host.")
  func resolverCodes() {
    for code in [EAI_NONAME, -5, -9] { #expect(resolv_is_unknown_host(code) != 0) }
    for code in [EAI_AGAIN, EAI_FAIL, EAI_SYSTEM, EAI_MEMORY] { #expect(resolv_is_unknown_host(code) == 0) }
  }

  @Test("A port number that does not exist is refused.", arguments: [0, -1, 65_536, .max])
  func ports(port: Int) async {
    #expect(await failure("127.0.0.1", port)?.code == .invalidConfiguration)
  }

  @Test("Each system error is mapped to its error code.")
  func errnoCodes() {
    let expected: [(CInt, TransportError.Code)] = [
      (ECONNREFUSED, .connectionRefused), (ECONNRESET, .connectionReset), (ETIMEDOUT, .timedOut),
      (EHOSTUNREACH, .unreachable), (ENETUNREACH, .unreachable), (EACCES, .connectionFailed),
    ]
    for (errno, code) in expected {
      let error = TransportError(
        IOError(errnoCode: errno, reason: "read"), of: ServerTarget(host: "::1", port: 1, tls: .direct))
      #expect(error.code == code)
      #expect(error.message.contains("[::1]:1"))
    }
  }

  @Test("A broken connection is reported in plain words instead of library calls.")
  func broken() {
    let error = TransportError(
      ofBroken: IOError(errnoCode: ECONNRESET, reason: "read(descriptor:pointer:size:)"))
    #expect(error.code == .connectionReset)
    #expect(error.message == "The connection broke: Connection reset by peer.")
  }

  @Test("Several failures are reported as the one that came closest to a server.")
  func mostTelling() {
    func best(_ codes: TransportError.Code...) -> TransportError.Code? {
      TransportError.mostTelling(codes.map { TransportError($0, "") })?.code
    }
    #expect(best(.unreachable, .connectionRefused) == .connectionRefused)
    #expect(best(.unreachable, .timedOut, .connectionFailed) == .timedOut)
    #expect(best(.connectionFailed, .unreachable) == .unreachable)
    #expect(best() == nil)
  }

  @Test("An error that the pipeline throws is passed on, and the connection is closed.")
  func pipelineFails() async throws {
    let (server, port) = try await server()
    let error = await #expect(throws: TransportError.self) {
      try await TCPConnector().connect(
        to: ServerTarget(host: "127.0.0.1", port: port, tls: .direct), on: loop, timeout: .seconds(60)
      ) { _ in throw TransportError(.tlsFailed, "no TLS today") }
    }
    #expect(error?.code == .tlsFailed)
    try await server.close()
  }

  @Test("A cancelled task does not wait for the connection.")
  func cancellation() async {
    let attempt = Task { try await connect("127.0.0.1", 9) }
    attempt.cancel()
    let result = await attempt.result
    #expect(throws: TransportError.self) { try result.get() }
  }
}
