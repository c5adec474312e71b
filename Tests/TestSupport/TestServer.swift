/// A private XMPP server on loopback: one of Debian's, with its own data directory, ports and certificate.
///
/// It is a child of this process, and is ended and its directory deleted when this process ends in any way.
public final class TestServer: Sendable {
  public enum Kind: String, Codable, Sendable, CaseIterable {
    case prosody, ejabberd
  }

  /// How the server keeps passwords, which decides what mechanisms it offers.
  public enum PasswordStore: String, Codable, Sendable {
    case hashed, plain
  }

  public struct Options: Codable, Sendable {
    public var kind: Kind
    public var domain = TestServer.domain
    /// Local part to password; all of them see each other's presence.
    public var accounts = ["alice": "alice-secret", "bob": "bob-secret", "carol": "carol-secret"]
    public var passwordStore = PasswordStore.hashed
    /// For a hashed store: `SHA-1` or `SHA-256`, ejabberd also `SHA-512`.
    public var hash = "SHA-1"
    /// Highest TLS version, `1.2` or `1.3`.
    public var maximumTLS = "1.3"
    /// Made for the domain by `TestAuthority.shared` when absent.
    public var certificate: TestCertificate?
    /// Lines of Lua in Prosody's global section, or of YAML at the top level of ejabberd's configuration.
    public var extraLines: [String] = []
    /// Further Prosody modules, or ejabberd modules without options.
    public var extraModules: [String] = []

    public init(_ kind: Kind) { self.kind = kind }
  }

  /// The domain of the test servers unless an option says otherwise.
  public static let domain = "im.example"
  /// Where it listens.
  public static let host = "127.0.0.1"

  public let options: Options
  /// Port for STARTTLS.
  public let port: Int
  /// Port for direct TLS.
  public let directTLSPort: Int
  /// Path of the authority's certificate (PEM).
  public let caFile: String
  /// The server's process id when it was first started.
  public let id: Int32
  private let script: Script
  private static let prosody = Task { try await TestServer(Options(.prosody)) }
  private static let ejabberd = Task { try await TestServer(Options(.ejabberd)) }

  /// The server of this kind that all tests of this process share. Tests that stop or change a server start
  /// their own.
  public static func shared(_ kind: Kind) async throws -> TestServer {
    switch kind {
    case .prosody: try await prosody.value
    case .ejabberd: try await ejabberd.value
    }
  }

  /// Starts a server; when this returns, it answers on both ports.
  public init(_ options: Options) async throws {
    struct Ready: Decodable {
      var port: Int
      var directTLSPort: Int
      var id: Int32
    }
    let authority = try await TestAuthority.shared
    var options = options
    if options.certificate == nil {
      options.certificate = try await authority.certificate(for: [options.domain])
    }
    script = try await Script("serve.py", options: options)
    let ready = try await script.first(Ready.self)
    self.options = options
    caFile = authority.caFile
    port = ready.port
    directTLSPort = ready.directTLSPort
    id = ready.id
  }

  /// The bare JID of an account.
  public func jid(_ account: String) -> String { "\(account)@\(options.domain)" }

  /// The password of an account, empty where there is none.
  public func password(_ account: String) -> String { options.accounts[account] ?? "" }

  /// What the server has logged.
  public var log: String { script.process.errors.text }

  /// Shuts the server down the way a system does (SIGTERM); the ports stay its own for `start`.
  public func shutDown() async throws { try await order("stop") }

  /// Kills the server (SIGKILL): clients see their connection end without a word.
  public func kill() async throws { try await order("kill") }

  /// Starts the server again, on the same ports and data.
  public func start() async throws { try await order("start") }

  /// Freezes the server (SIGSTOP): its ports accept connections and nothing answers.
  public func freeze() async throws { try await order("freeze") }

  /// Lets a frozen server go on.
  public func thaw() async throws { try await order("thaw") }

  /// Ends the server and deletes its directory.
  public func end() async throws { try await script.process.stop() }

  private func order(_ what: String) async throws {
    struct Order: Encodable {
      var order: String
      var number: Int
    }
    struct Done: Decodable { var done: Int }
    let number = Int.random(in: 1...Int(Int32.max))
    try script.send(Order(order: what, number: number))
    let script = script
    try await script.process.output.first("the end of \(what)", within: .seconds(60)) { _ in
      script.all(Done.self).contains { $0.done == number } ? () : nil
    }
  }
}
