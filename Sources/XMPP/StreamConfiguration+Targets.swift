import XMPPTransport

// The servers of a stream, and what TLS must prove there.

extension StreamConfiguration {
  /// The servers to try, in order: first the host to which a server has redirected, then the one with the session to
  /// resume (XEP-0198 §3).
  func targets() async throws(TransportError) -> [ServerTarget] {
    let preferred = elsewhere
    if preferred.isEmpty { return try await usualTargets() }
    let tls = tls ?? pipelinedTarget?.tls ?? .startTLS
    return preferred.map { $0.target(tls) } + ((try? await usualTargets()) ?? [])
  }

  /// The hosts to which a server has redirected, which are tried first.
  var elsewhere: [HostAddress] {
    [otherHost, resuming?.location.flatMap { HostAddress($0) }].compactMap(\.self)
  }

  private func usualTargets() async throws(TransportError) -> [ServerTarget] {
    if host != nil || port != nil || proxy != nil {
      let tls = tls ?? .startTLS
      // An IPv6 address may be in brackets.
      let host = host.map { text in text.hasPrefix("[") ? HostAddress(text)?.host ?? text : text }
      return [ServerTarget(host: host ?? account.asciiDomain, port: port ?? Self.port(for: tls), tls: tls)]
    }
    let domain = account.asciiDomain
    let found = try await resolver.targets(for: domain)
    guard let tls else { return found }
    let matching = found.filter { $0.tls == tls }
    // The user asked for a service that the DNS does not list.
    return matching.isEmpty ? [ServerTarget(host: domain, port: Self.port(for: tls), tls: tls)] : matching
  }

  fileprivate static func port(for tls: TLSMode) -> Int { tls == .direct ? 5223 : 5222 }

  /// ALPN is for direct TLS only (XEP-0368 §2.2).
  func tlsConfiguration(for target: ServerTarget) -> TLSConfiguration {
    var settings = TLSConfiguration(domain: account.asciiDomain)
    settings.unicodeDomain = account.domain
    if target.tls == .startTLS { settings.alpn = [] }
    settings.caFile = caFile
    settings.pinnedCertificateSHA256 = certificateSHA256
    settings.clientCertificate = clientCertificate
    settings.resumesSessions = onTLSSession != nil
    return settings
  }
}

extension HostAddress {
  /// A target at this host with the same domain; without a port, the usual one.
  func target(_ tls: TLSMode) -> ServerTarget {
    ServerTarget(host: host, port: port ?? StreamConfiguration.port(for: tls), tls: tls)
  }
}
