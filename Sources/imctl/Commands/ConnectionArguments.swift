import AgentProtocol
import ArgumentParser
import Glibc

/// The connection options. They are stored with the account, so that only the first login needs them.
struct ConnectionArguments: ParsableArguments {
  enum Encryption: String, ExpressibleByArgument, CaseIterable {
    case starttls, direct
  }

  @Option(help: ArgumentHelp("Connect to this host instead of the one in the DNS.", valueName: "name"))
  var host: String?

  @Option(help: ArgumentHelp("Connect to this port of the host.", valueName: "number"))
  var port: Int?

  @Option(help: ArgumentHelp("How to start TLS.", valueName: "how"))
  var tls: Encryption?

  @Option(
    help: ArgumentHelp("Trust the certificates in this PEM file.", valueName: "file"), completion: .file())
  var caFile: String?

  @Option(
    name: .customLong("cert-sha256"),
    help: ArgumentHelp("Trust only the certificate with this SHA-256 fingerprint.", valueName: "hex"))
  var certSHA256: String?

  @Option(
    help: ArgumentHelp(
      """
      Connect through this proxy: socks5h://[user@]host[:port] or http://[user@]host[:port]. `none` removes a stored \
      proxy.
      """,
      valueName: "URL"))
  var proxy: String?

  @Option(
    help: ArgumentHelp(
      """
      Run this command for each connection and use its first line of output as the password of the proxy user.
      """,
      valueName: "command"))
  var proxyPasswordCommand: String?

  @Option(
    help: ArgumentHelp(
      "Resource of the session. If omitted, a resource that identifies this installation is used.",
      valueName: "name"))
  var resource: String?

  /// Whether any of the options was given.
  var isGiven: Bool {
    port != nil || tls != nil
      || [host, caFile, certSHA256, proxy, proxyPasswordCommand, resource].contains { $0 != nil }
  }

  func validate() throws {
    for (name, value) in [("--host", host), ("--ca-file", caFile), ("--resource", resource)]
    where value?.isEmpty == true {
      throw ValidationError(inLanguage("The value of \(name) is empty.", "\(name) 的值为空。"))
    }
    if let port, !(1...65_535).contains(port) {
      throw ValidationError(
        inLanguage("The port \(port) is not in the range 1 to 65535.", "端口 \(port) 不在 1 到 65535 之间。"))
    }
    if let certSHA256, Self.fingerprint(certSHA256) == nil {
      throw ValidationError(
        inLanguage(
          "The value of --cert-sha256 is not 64 hexadecimal digits.", "--cert-sha256 的值不是 64 位十六进制数字。"))
    }
  }

  /// The options for the agent. Paths become absolute, because the agent runs in another directory.
  func options() throws -> ConnectionOptions {
    var options = ConnectionOptions()
    options.host = host
    options.port = port
    options.tls = tls?.rawValue
    options.caFile = try caFile.map(Self.absolute)
    options.certSHA256 = certSHA256.flatMap(Self.fingerprint)
    options.resource = resource
    options.proxy = proxy
    options.proxyPasswordCommand = proxyPasswordCommand
    if proxy ?? proxyPasswordCommand != nil {
      _ = try OneTimeAgent.ask(ConnectionCheckMethod.self, options, until: Deadline(.ofRequest))
    }
    return options
  }

  /// The fingerprint as 64 lower-case digits. Colons between them are allowed, as OpenSSL prints them.
  static func fingerprint(_ text: String) -> String? {
    let digits = text.filter { $0 != ":" }.lowercased()
    return digits.utf8.count == 64 && digits.allSatisfy { $0.isASCII && $0.isHexDigit } ? digits : nil
  }

  static func absolute(_ path: String) throws -> String {
    guard let real = realpath(path, nil) else { throw Failure.invalid(.about(path, systemError())) }
    defer { free(real) }
    return String(cString: real)
  }
}
