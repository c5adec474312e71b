/// Finds servers by DNS SRV records, and falls back to the domain itself on port 5222 (RFC 6120 §3.2, XEP-0368).
///
/// Both services are asked for at once, each on a thread of its own, as absolute names: search domains play no part.
public struct SRVResolver: ServiceResolver {
  /// An IPv4 name server to ask instead of those of the system.
  public struct NameServer: Sendable, Hashable {
    public var address: String
    public var port: UInt16

    public init(address: String, port: UInt16 = 53) {
      self.address = address
      self.port = port
    }
  }

  /// nil: the name servers of `/etc/resolv.conf`.
  public var nameServer: NameServer?
  /// The bound for both lookups together; what is known by then is used.
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

  /// What the answers of both services together say.
  static func targets(
    from answers: [TLSMode: SRVAnswer], fallback: ServerTarget,
    using generator: inout some RandomNumberGenerator
  ) throws(TransportError) -> [ServerTarget] {
    let targets = answers.flatMap { mode, answer in answer.targets(tls: mode) }.inTryingOrder(
      using: &generator)
    if !targets.isEmpty { return targets }
    // Direct TLS alone being absent leaves STARTTLS, and with it the fallback (XEP-0368 §3).
    guard answers[.startTLS] != .unavailable else {
      throw TransportError(
        .serviceUnavailable, .says(.noService, fallback.host))
    }
    return [fallback]
  }

  /// RFC 6761 §6.3: such names are never asked of a name server.
  private static func isLocal(_ domain: String) -> Bool {
    let name = domain.lowercased()
    return name == "localhost" || name.hasSuffix(".localhost")
  }

  /// The answers that came in time.
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
