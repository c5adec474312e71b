import AgentProtocol
import XMPP
import XMPPTransport

/// The validated connection options: how to reach a server, and which certificates to trust.
struct ServerAccess: Sendable, Equatable {
  private let options: ConnectionOptions
  private let tls: TLSMode?
  private let certificateSHA256: [UInt8]?
  private let proxy: ProxySettings

  /// - Throws: `invalidParameter` for an invalid proxy or fingerprint.
  init(_ options: ConnectionOptions) throws(Failure) {
    self.options = options
    tls = options.tls.flatMap(TLSMode.init)
    proxy = try options.proxySettings()
    certificateSHA256 = options.certSHA256.flatMap(Self.bytes(hex:))
    if options.certSHA256 != nil, certificateSHA256?.count != 32 {
      throw LoginPlan.invalid(.login(.fingerprintSyntax))
    }
  }

  func apply(to configuration: inout StreamConfiguration) {
    configuration.host = options.host
    configuration.port = options.port
    configuration.tls = tls
    configuration.caFile = options.caFile
    configuration.certificateSHA256 = certificateSHA256
    proxy.apply(to: &configuration)
  }

  /// Parses hexadecimal digits with or without colons, as tools print fingerprints.
  static func bytes(hex: String) -> [UInt8]? {
    let digits = Array(hex.utf8.filter { $0 != UInt8(ascii: ":") })
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes.append(byte)
    }
    return bytes
  }
}
