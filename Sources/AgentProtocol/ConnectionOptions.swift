/// Connection options that are kept with an account.
public struct ConnectionOptions: MethodParameters, Equatable {
  public var host: String?
  public var port: Int?
  /// `starttls` or `direct`; absent: as SRV records say, else STARTTLS.
  public var tls: String?
  /// Absolute path of a PEM file.
  public var caFile: String?
  /// SHA-256 of the server's certificate, 64 hexadecimal digits.
  public var certSHA256: String?
  public var resource: String?
  /// `socks5h://[user@]host[:port]` or `http://[user@]host[:port]`, never with a password; `none`: no proxy any more.
  public var proxy: String?
  /// Prints the password of the proxy's user; run for every connection.
  public var proxyPasswordCommand: String?
  public init() {}

  /// Throws for the first option whose value is not allowed. The address of a proxy is not looked at: the library, which
  /// connects to it, reads it.
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
