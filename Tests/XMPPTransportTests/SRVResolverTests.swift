import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import XMPPTransport

/// A name server on a loopback port that answers from a table, and is silent to other questions.
private final class NameServer: Sendable {
  private final class Responder: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    let table: @Sendable (String) -> DNSMessage?

    init(_ table: @escaping @Sendable (String) -> DNSMessage?) { self.table = table }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let question = unwrapInboundIn(data)
      let bytes = Array(question.data.readableBytesView)
      guard bytes.count > 12 else { return }
      var labels: [String] = []
      var index = 12
      while index < bytes.count, bytes[index] > 0 {
        let length = Int(bytes[index])
        labels.append(String(decoding: bytes[(index + 1)...].prefix(length), as: UTF8.self))
        index += length + 1
      }
      guard var answer = table(labels.joined(separator: ".")) else { return }
      answer.bytes.replaceSubrange(0..<2, with: bytes[0..<2])
      let envelope = AddressedEnvelope(
        remoteAddress: question.remoteAddress, data: ByteBuffer(bytes: answer.bytes))
      context.writeAndFlush(wrapOutboundOut(envelope), promise: nil)
    }
  }

  private let channel: any Channel

  init(_ table: @escaping @Sendable (String) -> DNSMessage?) async throws {
    channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Responder(table))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  func resolver(timeout: Duration = .seconds(60)) -> SRVResolver {
    SRVResolver(
      nameServer: .init(address: "127.0.0.1", port: UInt16(channel.localAddress?.port ?? 0)), timeout: timeout
    )
  }

  func stop() async throws { try await channel.close().get() }
}

@Suite struct SRVResolverTests {
  private func targets(
    timeout: Duration = .seconds(60), domain: String = "example.org",
    _ table: @escaping @Sendable (String) -> DNSMessage?
  ) async throws -> [ServerTarget] {
    let server = try await NameServer(table)
    let result = await Result { try await server.resolver(timeout: timeout).targets(for: domain) }
    try await server.stop()
    return try result.get()
  }

  private static let fallback = [ServerTarget(host: "example.org", port: 5222, tls: .startTLS)]

  @Test("The resolver asks for the records of both services over UDP and sorts them together.")
  func both() async throws {
    let found = try await targets { name in
      switch name {
      case "_xmpps-client._tcp.example.org":
        DNSMessage(name: name, answers: [DNSMessage.srv(5, 1, 443, "direct.example.org")])
      case "_xmpp-client._tcp.example.org":
        DNSMessage(
          name: name,
          answers: [DNSMessage.srv(9, 1, 5222, "b.example.org"), DNSMessage.srv(1, 1, 5322, "a.example.org")])
      default: nil
      }
    }
    #expect(
      found == [
        ServerTarget(host: "a.example.org", port: 5322, tls: .startTLS, priority: 1, weight: 1),
        ServerTarget(host: "direct.example.org", port: 443, tls: .direct, priority: 5, weight: 1),
        ServerTarget(host: "b.example.org", port: 5222, tls: .startTLS, priority: 9, weight: 1),
      ])
  }

  @Test(
    "The domain itself is used if it has no SRV records or does not exist.",
    arguments: [0, 3, 2, 5] as [UInt8])
  func noRecords(rcode: UInt8) async throws {
    let found = try await targets { DNSMessage(name: $0, answers: [], rcode: rcode) }
    #expect(found == Self.fallback)
  }

  @Test("The domain itself is used if the name server does not answer within the time limit.")
  func silence() async throws {
    #expect(try await targets(timeout: .milliseconds(100)) { _ in nil } == Self.fallback)
  }

  @Test("The records of one service are used if the answer for the other one does not arrive in time.")
  func halfSilent() async throws {
    let found = try await targets(timeout: .seconds(1)) { name in
      name.hasPrefix("_xmpps-")
        ? nil : DNSMessage(name: name, answers: [DNSMessage.srv(0, 0, 5222, "a.example.org")])
    }
    #expect(found.map(\.host) == ["a.example.org"])
  }

  @Test("A domain that declares that it has no service is not connected to.")
  func noService() async throws {
    let error = await #expect(throws: TransportError.self) {
      try await targets { DNSMessage(name: $0, answers: [DNSMessage.srv(0, 0, 0, ".")]) }
    }
    #expect(error?.code == .serviceUnavailable)
  }

  @Test("The meaning of a lone dot for one service depends on the answer for the other service.")
  func dots() throws {
    var generator = SeededGenerator(seed: 1)
    let fallback = Self.fallback[0]
    let records = SRVAnswer.records([.init(priority: 0, weight: 0, port: 1, host: "a.example")])
    func targets(_ direct: SRVAnswer, _ startTLS: SRVAnswer) throws -> [String] {
      try SRVResolver.targets(
        from: [.direct: direct, .startTLS: startTLS], fallback: fallback, using: &generator
      )
      .map(\.host)
    }
    #expect(try targets(.unavailable, records) == ["a.example"])
    #expect(try targets(records, .unavailable) == ["a.example"])
    #expect(try targets(.unavailable, .none) == ["example.org"])
    #expect(throws: TransportError.self) { try targets(.none, .unavailable) }
    #expect(throws: TransportError.self) { try targets(.unavailable, .unavailable) }
  }

  @Test("A damaged DNS answer counts as no answer.")
  func damaged() async throws {
    let found = try await targets { name in
      var message = DNSMessage(name: name, answers: [DNSMessage.srv(0, 0, 5222, "a.example.org")])
      message.bytes.removeLast(8)
      return message
    }
    #expect(found == Self.fallback)
  }

  @Test(
    "IP addresses and local names are not looked up.",
    arguments: ["127.0.0.1", "::1", "localhost", "a.localhost"])
  func notAsked(domain: String) async throws {
    let found = try await targets(domain: domain) { name in
      DNSMessage(name: name, answers: [DNSMessage.srv(0, 0, 5222, "evil.example")])
    }
    #expect(found == [ServerTarget(host: domain, port: 5222, tls: .startTLS)])
  }

  @Test(
    "A domain whose name is impossible in DNS is used itself.",
    arguments: [String(repeating: "a", count: 64) + ".org", "a..b"])
  func impossibleName(domain: String) async throws {
    let found = try await targets(domain: domain) { _ in nil }
    #expect(found.map(\.host) == [domain])
  }

  @Test("A cancelled task does not wait for the name server.")
  func cancellation() async throws {
    let server = try await NameServer { _ in nil }
    let lookup = Task { try await server.resolver().targets(for: "example.org") }
    lookup.cancel()
    let result = await lookup.result
    #expect(throws: TransportError.self) { try result.get() }
    try await server.stop()
  }
}

extension Result where Failure == any Error {
  /// What an asynchronous body returns or throws.
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
