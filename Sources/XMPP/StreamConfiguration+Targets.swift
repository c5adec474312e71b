import XMPPTransport

// Where a stream goes, and what TLS has to prove there.

extension StreamConfiguration {
  /// The servers to try, in order: first where the session to resume is kept (XEP-0198 §3).
  func targets() async throws(TransportError) -> [ServerTarget] {
    guard let location else { return try await usualTargets() }
    return [location] + ((try? await usualTargets()) ?? [])
  }

  private func usualTargets() async throws(TransportError) -> [ServerTarget] {
    if host != nil || port != nil {
      let tls = tls ?? .startTLS
      return [ServerTarget(host: host ?? account.asciiDomain, port: port ?? Self.port(for: tls), tls: tls)]
    }
    let domain = account.asciiDomain
    let found = try await resolver.targets(for: domain)
    guard let tls else { return found }
    let matching = found.filter { $0.tls == tls }
    // The user knows of a service that the DNS does not name.
    return matching.isEmpty ? [ServerTarget(host: domain, port: Self.port(for: tls), tls: tls)] : matching
  }

  private var location: ServerTarget? {
    let tls = anticipatedTarget?.tls ?? tls ?? .startTLS
    return resuming?.location.flatMap { ServerTarget(address: $0, port: Self.port(for: tls), tls: tls) }
  }

  private static func port(for tls: TLSMode) -> Int { tls == .direct ? 5223 : 5222 }

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
