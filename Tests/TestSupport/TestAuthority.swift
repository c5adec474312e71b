/// A certificate authority of this test process; its directory goes when the process does.
public final class TestAuthority: Sendable {
  /// What is right or wrong with a certificate.
  public enum Kind: String, Codable, Sendable, CaseIterable {
    case valid
    /// Signed by itself.
    case selfSigned
    /// Ended an hour ago.
    case expired
    /// Starts in a day.
    case notYetValid
    /// Signed by an ordinary server certificate of this authority.
    case signedByLeaf
    /// Signed with SHA-1.
    case sha1
    /// Names the address 127.0.0.1 and no domain.
    case addressOnly
    /// Names the domain as JIDs write it (xmppAddr) and in no other way.
    case addressOfXMPP
    /// Names the domain in the subject's common name only.
    case commonNameOnly
    /// Signed by an authority that nobody trusts.
    case otherAuthority
    /// A user's: names a bare JID (xmppAddr).
    case client
  }

  private static let one = Task { try await TestAuthority() }

  /// The authority of this test process.
  public static var shared: TestAuthority {
    get async throws { try await one.value }
  }

  /// Path of the authority's own certificate (PEM), for `--ca-file`.
  public let caFile: String
  private let script: Script

  private init() async throws {
    struct Ready: Decodable { var caFile: String }
    script = try await Script("authority.py", options: [String: String]())
    caFile = try await script.first(Ready.self).caFile
  }

  /// A certificate for the domain names given (dNSName).
  public func certificate(_ kind: Kind = .valid, for names: [String] = [TestServer.domain]) async throws
    -> TestCertificate
  {
    struct Order: Encodable {
      var number: Int
      var kind: Kind
      var names: [String]
    }
    struct Made: Decodable {
      var number: Int
      var chainFile: String
      var keyFile: String
    }
    let number = Int.random(in: 1...Int(Int32.max))
    try script.send(Order(number: number, kind: kind, names: names))
    let script = script
    return try await script.process.output.first("a certificate") { _ in
      script.all(Made.self).first { $0.number == number }
        .map { TestCertificate(chainFile: $0.chainFile, keyFile: $0.keyFile) }
    }
  }
}

/// Paths of a certificate chain and its private key (PEM).
public struct TestCertificate: Codable, Sendable, Hashable {
  public var chainFile: String
  public var keyFile: String
}
