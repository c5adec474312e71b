/// Connection options, which are stored with an account.
public struct ConnectionOptions: MethodParameters, Equatable {
  public var host: String?
  public var port: Int?
  /// `starttls` or `direct`; absent: according to the SRV records, or STARTTLS without them.
  public var tls: String?
  /// Absolute path of a PEM file.
  public var caFile: String?
  /// SHA-256 of the server's certificate, 64 hexadecimal digits.
  public var certSHA256: String?
  public var resource: String?
  /// `socks5h://[user@]host[:port]` or `http://[user@]host[:port]`, never with a password; `none`: no proxy from now
  /// on.
  public var proxy: String?
  /// The command that prints the proxy user's password; it runs for every connection.
  public var proxyPasswordCommand: String?
  public init() {}

  /// Throws for the first option whose value is not allowed. The proxy's address is not checked here, but by the
  /// library that connects to it.
  public func validate() throws(RPCError) {
    if let port, !(1...65535).contains(port) { throw .invalidParameter("options.port") }
    if let tls, !["starttls", "direct"].contains(tls) { throw .invalidParameter("options.tls") }
    if let caFile, !caFile.hasPrefix("/") { throw .invalidParameter("options.caFile") }
    if let digest = certSHA256, digest.utf8.count != 64 || !digest.allSatisfy(\.isHexDigit) {
      throw .invalidParameter("options.certSHA256")
    }
  }
}

extension ConnectionOptions: DefaultValue {
  public static var defaultValue: ConnectionOptions { ConnectionOptions() }
}
