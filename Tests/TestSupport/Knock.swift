import FoundationEssentials

extension TestServer {
  /// A look at the server without our own code.
  private struct Knock: Encodable {
    var port: Int
    var directTLS: Bool
    var domain: String
    var account: String
    var maximumTLS: String
    var certificate: TestCertificate?
    var mechanism: String?
    var response: String?
    var bind = false
  }

  /// The features (XML) that the server offers inside TLS to an account that has not logged in.
  ///
  /// - Parameters:
  ///   - domain: the server's own unless said otherwise.
  ///   - proxy: a link to the server's port for STARTTLS.
  public func features(
    to account: String = "alice", at domain: String? = nil, directTLS: Bool = false,
    maximumTLS: String = "1.3", through proxy: DelayProxy? = nil
  ) async throws -> String {
    try await knock(
      Knock(
        port: proxy?.port ?? (directTLS ? directTLSPort : port), directTLS: directTLS,
        domain: domain ?? options.domain, account: account, maximumTLS: maximumTLS))
  }

  /// What the server says (XML) to `<auth/>` of RFC 6120 with an initial response, or after its success to a request
  /// to bind a resource.
  public func answer(
    to mechanism: String, _ response: String, account: String = "alice", at domain: String? = nil,
    certificate: TestCertificate? = nil, bind: Bool = false
  ) async throws -> String {
    try await knock(
      Knock(
        port: port, directTLS: false, domain: domain ?? options.domain, account: account, maximumTLS: "1.3",
        certificate: certificate, mechanism: mechanism,
        response: response.isEmpty ? "=" : Data(response.utf8).base64EncodedString(), bind: bind))
  }

  private func knock(_ knock: Knock) async throws -> String {
    let process = try await ChildProcess(
      "/usr/bin/python3",
      [Script.path("knock.py"), String(decoding: try JSONEncoder().encode(knock), as: UTF8.self)])
    guard try await process.ended(within: .seconds(90)) == .exited(0) else {
      throw TestSupportError("no answer from \(options.kind): \(process.errors.text)")
    }
    return process.output.text
  }
}
