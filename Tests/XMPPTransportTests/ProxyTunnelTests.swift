import NIOCore
import NIOPosix
import Testing

@testable import XMPPTransport

@Suite("Tunnels through a proxy", .timeLimit(.minutes(2)))
struct ProxyTunnelTests {
  private typealias Step = ScriptedProxy.Step

  /// Says something as soon as it is there, and hears the answer.
  private final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let answer: EventLoopPromise<String>
    private var text = ""

    init(_ answer: EventLoopPromise<String>) { self.answer = answer }

    func handlerAdded(context: ChannelHandlerContext) {
      context.writeAndFlush(NIOAny(ByteBuffer(string: "<stream>")), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      text += String(buffer: unwrapInboundIn(data))
      if text.hasSuffix(">") { answer.succeed(text) }
    }

    func channelInactive(context: ChannelHandlerContext) { answer.fail(ChannelError.eof) }
  }

  private let loop = MultiThreadedEventLoopGroup.singleton.any()

  /// What comes back of what is sent to the target.
  private func answer(
    _ proxy: ScriptedProxy, _ kind: String = "socks5h", user: String? = nil, password: String? = nil,
    host: String = "im.example", within timeout: TimeAmount = .seconds(50)
  ) async throws -> String {
    let address = try ProxyAddress("\(kind)://\(user.map { $0 + "@" } ?? "")127.0.0.1:\(proxy.port)")
    let answer = loop.makePromise(of: String.self)
    let channel: any Channel
    do {
      channel = try await TCPConnector().connect(
        to: ServerTarget(host: host, port: 5222, tls: .startTLS), through: address, password: password,
        on: loop, timeout: timeout
      ) { try $0.pipeline.syncOperations.addHandler(Echo(answer)) }
    } catch {
      answer.fail(error)
      throw error
    }
    let text = try await answer.futureResult.get()
    try await channel.close()
    return text
  }

  /// The reason of a connection that fails.
  private func failure(
    _ steps: [Step], _ kind: String = "socks5h", user: String? = nil, password: String? = nil,
    host: String = "im.example", within timeout: TimeAmount = .seconds(50)
  ) async throws -> String? {
    let proxy = try await ScriptedProxy(steps)
    let error = await #expect(throws: TransportError.self) {
      try await answer(proxy, kind, user: user, password: password, host: host, within: timeout)
    }
    #expect(error?.code == .proxyFailed || error?.code == .invalidConfiguration)
    // The connection to the proxy is closed, whatever came of it.
    _ = try await proxy.received
    try await proxy.stop()
    return error?.message.replacing(" 127.0.0.1:\(proxy.port)", with: "")
  }

  private static let name: [UInt8] = [5, 1, 0, 3, 10] + Array("im.example".utf8) + [0x14, 0x66]
  private static let connected: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0x14, 0x66]

  private static let silence = [Step.expect(Array(repeating: 0, count: 10_000))]

  // MARK: SOCKS5

  @Test("A SOCKS5 proxy gets the name of the host, and the data that follows reaches the host.")
  func socks() async throws {
    let proxy = try await ScriptedProxy([
      .expect([5, 1, 0]), .send([5, 0]), .expect(Self.name), .send(Self.connected),
    ])
    #expect(try await answer(proxy) == "<stream>")
    #expect(try await proxy.received == [5, 1, 0] + Self.name + Array("<stream>".utf8))
    try await proxy.stop()
  }

  @Test(
    "A SOCKS5 proxy gets an IP address in its binary form.",
    arguments: [
      ("192.0.2.1", [1, 192, 0, 2, 1]),
      ("2001:db8::1", [4, 0x20, 1, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1]),
    ] as [(String, [UInt8])])
  func socksAddress(host: String, bytes: [UInt8]) async throws {
    let proxy = try await ScriptedProxy([
      .expect([5, 1, 0]), .send([5, 0]), .expect([5, 1, 0] + bytes + [0x14, 0x66]), .send(Self.connected),
    ])
    #expect(try await answer(proxy, host: host) == "<stream>")
    try await proxy.stop()
  }

  @Test("A SOCKS5 proxy gets the user and the password on request, and may answer byte by byte.")
  func socksPassword() async throws {
    let request: [UInt8] = [1, 5] + Array("alice".utf8) + [5] + Array("sesam".utf8)
    let proxy = try await ScriptedProxy(
      [
        .expect([5, 2, 0, 2]), .send([5]), .send([2]), .expect(request), .send([1]), .send([0]),
        .expect(Self.name),
      ] + Self.connected.map { .send([$0]) })
    #expect(try await answer(proxy, user: "alice", password: "sesam") == "<stream>")
    try await proxy.stop()
  }

  @Test("The bound address in the answer of a SOCKS5 proxy is skipped in all of its forms.")
  func boundNames() async throws {
    let forms: [[UInt8]] = [[3, 1, 0x61, 0, 1], [3, 0, 0, 1], [4] + Array(repeating: 0, count: 18)]
    for form in forms {
      let proxy = try await ScriptedProxy([
        .expect([5, 1, 0]), .send([5, 0]), .expect(Self.name), .send([5, 0, 0] + form),
      ])
      #expect(try await answer(proxy) == "<stream>")
      try await proxy.stop()
    }
  }

  @Test(
    "A refusal or an invalid answer of a SOCKS5 proxy is reported.",
    arguments: [
      ([.expect([5, 1, 0]), .send([5, 0xFF])], nil, "the proxy requires a user and a password"),
      ([.expect([5, 1, 0]), .send([5, 2])], nil, "the proxy requires a user and a password"),
      (
        [.expect([5, 2, 0, 2]), .send([5, 0xFF])], "alice", "the proxy does not accept a user and a password"
      ),
      (
        [.send([5, 2]), .expect([5, 2, 0, 2, 1]), .send([1, 1])], "alice",
        "the proxy refused user and password"
      ),
      (
        [.send([5, 0]), .expect([5, 1, 0] + name), .send([5, 1, 0, 1, 0, 0, 0, 0, 0, 0])], nil,
        "the proxy answered: general failure"
      ),
      (
        [.send([5, 0]), .expect([5, 1, 0] + name), .send([5, 5, 0, 1, 0, 0, 0, 0, 0, 0])], nil,
        "the proxy answered: connection refused"
      ),
      (
        [.send([5, 0]), .expect([5, 1, 0] + name), .send([5, 99, 0, 3, 0, 0, 0])], nil,
        "the proxy answered: error 99"
      ),
      ([.send([4, 0])], nil, "the proxy does not speak SOCKS5"),
      ([.send("HTTP/1.1 400 Bad Request\r\n\r\n")], nil, "the proxy does not speak SOCKS5"),
      ([.send([5, 0]), .expect([5, 1, 0]), .send([5, 0, 1, 1])], nil, "the proxy does not speak SOCKS5"),
      ([.send([5, 0]), .expect([5, 1, 0]), .send([5, 0, 0, 9])], nil, "the proxy does not speak SOCKS5"),
      ([.close], nil, "the proxy closed the connection"),
      ([.send([5]), .close], nil, "the proxy closed the connection"),
      ([.expect([5, 1, 0]), .send([5, 0]), .expect([5]), .close], nil, "the proxy closed the connection"),
      (
        [.expect([5, 1, 0]), .send([5, 0]), .expect(name), .send(connected + [0x3C])], nil,
        "the proxy sent unrequested data"
      ),
      ([.flood(Array(repeating: 0, count: 4096))], nil, "the proxy does not speak SOCKS5"),
    ] as [([ScriptedProxy.Step], String?, String)])
  func socksRefusals(steps: [ScriptedProxy.Step], user: String?, words: String) async throws {
    let said = try await failure(steps, user: user, password: user.map { _ in "sesam" })
    #expect(said == words)
  }

  // MARK: HTTP

  private static func request(_ more: String = "") -> [UInt8] {
    Array("CONNECT im.example:5222 HTTP/1.1\r\nHost: im.example:5222\r\n\(more)\r\n".utf8)
  }

  @Test(
    "An HTTP proxy gets a CONNECT request for the host, and the data that follows reaches the host.",
    arguments: [
      "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\nProxy-agent: x\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 299 \r\nContent-Length: 5\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
  func http(head: String) async throws {
    let proxy = try await ScriptedProxy([.expect(Self.request()), .send(head)])
    #expect(try await answer(proxy, "http") == "<stream>")
    #expect(try await proxy.received == Self.request() + Array("<stream>".utf8))
    try await proxy.stop()
  }

  @Test("An HTTP proxy gets the user and the password, and may answer byte by byte.")
  func httpPassword() async throws {
    // RFC 7617 §2.
    let credentials = "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"
    let proxy = try await ScriptedProxy(
      [.expect(Self.request(credentials))] + "HTTP/1.1 200 OK\r\n\r\n".utf8.map { .send([$0]) })
    #expect(try await answer(proxy, "http", user: "Aladdin", password: "open sesame") == "<stream>")
    try await proxy.stop()
  }

  @Test("An HTTP proxy gets an IPv6 address in brackets.")
  func httpAddress() async throws {
    let request = "CONNECT [2001:db8::1]:5222 HTTP/1.1\r\nHost: [2001:db8::1]:5222\r\n\r\n"
    let proxy = try await ScriptedProxy([.expect(Array(request.utf8)), .send("HTTP/1.1 200 OK\r\n\r\n")])
    #expect(try await answer(proxy, "http", host: "2001:db8::1") == "<stream>")
    try await proxy.stop()
  }

  @Test(
    "A refusal or an invalid answer of an HTTP proxy is reported.",
    arguments: [
      (
        [.send("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 4\r\n\r\nbody")],
        "the proxy answered: 407 Proxy Authentication Required"
      ),
      ([.send("HTTP/1.1 499 \u{1B}[31mNo\r\n\r\n")], "the proxy answered: 499"),
      (
        [.send("HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example\r\n\r\n")],
        "the proxy answered: 302 Found"
      ),
      (
        [.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")],
        "the proxy answered: 101 Switching Protocols"
      ),
      ([.send("SSH-2.0-OpenSSH_9.2\r\n")], "the proxy does not speak HTTP"),
      ([.send([5, 0])], "the proxy does not speak HTTP"),
      ([.send("HTTP/9.9 200 OK\r\n\r\n")], "the proxy does not speak HTTP"),
      ([.send("HTTP/1.1 200 OK\r\n\r\n<stream:stream>")], "the proxy does not speak HTTP"),
      (
        [.send("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")],
        "the proxy does not speak HTTP"
      ),
      ([.send("HTTP/1.1 403 No\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")], "the proxy answered: 403 Forbidden"),
      ([.close], "the proxy closed the connection"),
      ([.send("HTTP/1.1 200"), .close], "the proxy closed the connection"),
      (
        [.send("HTTP/1.1 200 OK\r\n"), .flood(Array("A: b\r\n".utf8))], "the answer of the proxy is too long"
      ),
      (
        [.send("HTTP/1.1 200 OK\r\nA: "), .flood(Array("bbbbbbbbbbbbbbbb".utf8))],
        "the answer of the proxy is too long"
      ),
      ([.flood(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))], "the answer of the proxy is too long"),
    ] as [([ScriptedProxy.Step], String)])
  func httpRefusals(steps: [ScriptedProxy.Step], words: String) async throws {
    let said = try await failure([.expect(Self.request())] + steps, "http")
    #expect(said == words)
  }

  // MARK: Both

  @Test("A connection through a silent proxy fails at the time limit.", arguments: ["socks5h", "http"])
  func silent(kind: String) async throws {
    #expect(
      try await failure(Self.silence, kind, within: .milliseconds(300))
        == "no answer from the proxy in time")
  }

  @Test(
    "A proxy that cannot be reached is reported as the cause of the failure.", arguments: ["socks5h", "http"])
  func dead(kind: String) async throws {
    let proxy = try ProxyAddress("\(kind)://127.0.0.1:1")
    let error = await #expect(throws: TransportError.self) {
      try await TCPConnector().connect(
        to: ServerTarget(host: "im.example", port: 5222, tls: .direct), through: proxy, on: loop,
        timeout: .seconds(50)
      ) { _ in }
    }
    #expect(error?.code == .proxyFailed)
    #expect(error?.message == "The connection to 127.0.0.1:1 failed: Connection refused.")
  }

  @Test(
    "A proxy is never asked for a host whose name is invalid.", arguments: ["socks5h", "http"],
    ["im.example\r\nX: y", "a b", "", String(repeating: "a", count: 300), "im.example/x"])
  func badHost(kind: String, host: String) async throws {
    let message = try await failure(Self.silence, kind, host: host)
    #expect(message?.hasPrefix("A proxy cannot be asked for the host") == true)
  }

  @Test("A cancelled task does not wait for the answer of the proxy.", arguments: ["socks5h", "http"])
  func cancellation(kind: String) async throws {
    let proxy = try await ScriptedProxy(Self.silence)
    let attempt = Task { try await answer(proxy, kind) }
    attempt.cancel()
    let result = await attempt.result
    let error = #expect(throws: TransportError.self) { try result.get() }
    #expect(error?.code == .cancelled)
    try await proxy.stop()
  }
}
