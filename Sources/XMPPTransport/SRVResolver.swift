/// Finds servers by DNS SRV records, and falls back to the domain itself on port 5222 (RFC 6120 §3.2, XEP-0368).
///
/// Both services are queried at the same time, each on a thread of its own, as absolute names without search domains.
public struct SRVResolver: ServiceResolver {
  /// An IPv4 name server that is used instead of the system's.
  public struct NameServer: Sendable, Hashable {
    public var address: String
    public var port: UInt16

    public init(address: String, port: UInt16 = 53) {
      self.address = address
      self.port = port
    }
  }

  /// Nil for the name servers of `/etc/resolv.conf`.
  public var nameServer: NameServer?
  /// The time limit of both lookups together; late answers are ignored.
  public var timeout: Duration

  public init(nameServer: NameServer? = nil, timeout: Duration = .seconds(5)) {
    self.nameServer = nameServer
    self.timeout = timeout
  }

  public func targets(for domain: String) async throws(TransportError) -> [ServerTarget] {
    let fallback = ServerTarget(host: domain, port: 5222, tls: .startTLS)
    if IPAddress.isValid(domain) || Self.isLocal(domain) { return [fallback] }
    let answers = await lookUp(domain)
    if Task.isCancelled { throw TransportError(.cancelled, .says(.lookupCancelled, domain)) }
    var generator = SystemRandomNumberGenerator()
    return try Self.targets(from: answers, fallback: fallback, using: &generator)
  }

  /// The combined targets of both services.
  static func targets(
    from answers: [TLSMode: SRVAnswer], fallback: ServerTarget,
    using generator: inout some RandomNumberGenerator
  ) throws(TransportError) -> [ServerTarget] {
    let targets = answers.flatMap { mode, answer in answer.targets(tls: mode) }.inTryingOrder(
      using: &generator)
    if !targets.isEmpty { return targets }
    // If only direct TLS is explicitly unavailable, STARTTLS and its fallback remain (XEP-0368 §3).
    guard answers[.startTLS] != .unavailable else {
      throw TransportError(
        .serviceUnavailable, .says(.noService, fallback.host))
    }
    return [fallback]
  }

  /// Name servers are never queried for such names (RFC 6761 §6.3).
  private static func isLocal(_ domain: String) -> Bool {
    let name = domain.lowercased()
    return name == "localhost" || name.hasSuffix(".localhost")
  }

  /// The answers within the time limit.
  private func lookUp(_ domain: String) async -> [TLSMode: SRVAnswer] {
    let (stream, feed) = AsyncStream.makeStream(of: (TLSMode, SRVAnswer).self)
    let nameServer = nameServer
    let attempts = Int32(min(30, max(2, timeout.components.seconds / 2)))
    for (mode, service) in [(TLSMode.direct, "_xmpps-client"), (.startTLS, "_xmpp-client")] {
      DetachedThread.run {
        let name = "\(service)._tcp.\(domain)."
        feed.yield((mode, SRVAnswer(name: name, nameServer: nameServer, attempts: attempts)))
      }
    }
    let clock = Task { [timeout] in
      try? await Task.sleep(for: timeout)
      feed.finish()
    }
    defer { clock.cancel() }
    var answers: [TLSMode: SRVAnswer] = [:]
    for await (mode, answer) in stream {
      answers[mode] = answer
      if answers.count == 2 { break }
    }
    return answers
  }
}
