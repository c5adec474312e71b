/// A private XMPP server on loopback: one of Debian's, with its own data directory, ports and certificate.
///
/// It is a child of this process, and is ended and its directory deleted when this process ends in any way.
public final class TestServer: Sendable {
  public enum Kind: String, Codable, Sendable, CaseIterable {
    /// Debian 12's: Prosody 0.12, ejabberd 23.01.
    case prosody, ejabberd
    /// Debian 13's: Prosody 13.0, ejabberd 24.12. They have SASL2 with Bind 2 and FAST, and channel binding.
    case prosody13, ejabberd24

    /// Those that log in by RFC 6120 alone.
    public static let older = [prosody, ejabberd]
    /// Those with SASL2.
    public static let newer = [prosody13, ejabberd24]
    /// One of each software and of each Debian, where the release makes no difference.
    public static let oneOfEach = [prosody, ejabberd24]
    public var isProsody: Bool { self == .prosody || self == .prosody13 }
    public var hasSASL2: Bool { Self.newer.contains(self) }
  }

  /// How the server keeps passwords, which decides what mechanisms it offers.
  public enum PasswordStore: String, Codable, Sendable {
    case hashed, plain
  }

  /// Who knows whether a login is right.
  public enum Authentication: String, Codable, Sendable {
    /// The server's own store of passwords.
    case `internal`
    /// The signature of a JSON Web Token (ejabberd); see `jwtKey`.
    case jwt
    /// A script that knows the accounts (ejabberd): only PLAIN.
    case external
  }

  public struct Options: Codable, Sendable {
    public var kind: Kind
    public var domain = TestServer.domain
    /// Another domain of the server, where everybody gets in by ANONYMOUS.
    public var anonymousDomain: String?
    /// Local part to password.
    public var accounts = ["alice": "alice-secret", "bob": "bob-secret", "carol": "carol-secret"]
    /// Accounts that see each other's presence; all of them when absent.
    public var friends: [String]?
    public var passwordStore = PasswordStore.hashed
    /// For a hashed store: `SHA-1` or `SHA-256`, ejabberd also `SHA-512`.
    public var hash = "SHA-1"
    /// Highest TLS version, `1.2` or `1.3`.
    public var maximumTLS = "1.3"
    /// Made for the domain by `TestAuthority.shared` when absent.
    public var certificate: TestCertificate?
    public var authentication = Authentication.internal
    /// HMAC key of JSON Web Tokens, base64url without padding.
    public var jwtKey = TestServer.jwtKey
    /// Seconds until a FAST token dies, and until its use is answered with the next one; the server's when absent
    /// (weeks, a day).
    public var fastTokenLifetime: Int?
    public var fastTokenRefreshAge: Int?
    /// Issues each account a token for OAUTHBEARER (Prosody 13) or X-OAUTH2 (ejabberd), which lives that many seconds:
    /// `bearerToken`.
    public var bearerTokenLifetime: Int?
    /// Accounts that may not log in, with the reason (not Debian 12's Prosody).
    public var disabled: [String: String] = [:]
    /// Accounts that ejabberd's listener turns away when they bind.
    public var denied: [String] = []
    /// ejabberd's archive is in SQLite, for thousands of messages.
    public var archiveInSQLite = false
    /// Sessions of an account that ejabberd lets there be; 50 when absent.
    public var maximumSessions: Int?
    /// Whether strangers may make accounts.
    public var registration = false
    /// Domain of a component that may connect: `PushService`.
    public var component: String?
    /// Local parts of who may remove messages from archives by ejabberd's API: `apiURL`; without a component then.
    public var apiUsers: [String] = []
    /// Path of the authority (PEM) of clients' certificates: EXTERNAL is offered. Prosody then has
    /// no passwords, and Debian 12's has none of it.
    public var clientAuthority: String?
    /// Files of the server's directory, name to text. In lines, `@DIRECTORY@` is its path as the server sees it.
    public var files: [String: String] = [:]
    /// Lines of Lua in Prosody's global section, or of YAML at the top level of ejabberd's configuration.
    public var extraLines: [String] = []
    /// The same for the domain alone: in its `VirtualHost` or `host_config`.
    public var hostLines: [String] = []
    /// Further Prosody modules, or ejabberd modules: `mod_x`, or `mod_x: {option: value}`.
    public var extraModules: [String] = []
    /// Modules to leave out of what `extraModules`, the archive, SASL2 and FAST bring, or (Prosody) of all.
    public var withoutModules: [String] = []

    public init(_ kind: Kind) { self.kind = kind }
  }

  /// The domain of the test servers unless an option says otherwise.
  public static let domain = "im.example"
  /// The HMAC key of the test servers' JSON Web Tokens: the 32 letters `imctl-tests-imctl-tests-imctl-te`.
  public static let jwtKey = "aW1jdGwtdGVzdHMtaW1jdGwtdGVzdHMtaW1jdGwtdGU"
  /// Where it listens.
  public static let host = "127.0.0.1"

  public let options: Options
  /// Port for STARTTLS.
  public let port: Int
  /// Port for direct TLS.
  public let directTLSPort: Int
  /// Port for components.
  public let componentPort: Int
  /// Where ejabberd's API is, see `Options.apiUsers`; the server's certificate has to be for `localhost`, too.
  public var apiURL: String { "https://localhost:\(componentPort)/api" }
  /// Path of the authority's certificate (PEM).
  public let caFile: String
  /// The server's process id when it was first started.
  public let id: Int32
  /// The server's directory: configuration, data, and `Options.files`.
  public let directory: String
  private let tokens: [String: String]
  private let script: Script
  private static let prosody = Task { try await TestServer(Options(.prosody)) }
  private static let ejabberd = Task { try await TestServer(Options(.ejabberd)) }
  private static let prosody13 = Task { try await TestServer(Options(.prosody13)) }
  private static let ejabberd24 = Task { try await TestServer(Options(.ejabberd24)) }

  /// The server of this kind that all tests of this process share. Tests that stop or change a server start
  /// their own.
  public static func shared(_ kind: Kind) async throws -> TestServer {
    switch kind {
    case .prosody: try await prosody.value
    case .ejabberd: try await ejabberd.value
    case .prosody13: try await prosody13.value
    case .ejabberd24: try await ejabberd24.value
    }
  }

  /// Starts a server; when this returns, it answers on both ports.
  public init(_ options: Options) async throws {
    struct Ready: Decodable {
      var port: Int
      var directTLSPort: Int
      var componentPort: Int
      var id: Int32
      var directory: String
      var tokens: [String: String]
    }
    let authority = try await TestAuthority.shared
    var options = options
    if options.certificate == nil {
      options.certificate = try await authority.certificate(
        for: [options.domain] + (options.anonymousDomain.map { [$0] } ?? []))
    }
    script = try await Script("serve.py", options: options)
    let ready = try await script.first(Ready.self)
    self.options = options
    caFile = authority.caFile
    port = ready.port
    directTLSPort = ready.directTLSPort
    componentPort = ready.componentPort
    id = ready.id
    directory = ready.directory
    tokens = ready.tokens
  }

  /// The bare JID of an account.
  public func jid(_ account: String) -> String { "\(account)@\(options.domain)" }

  /// The password of an account, empty where there is none.
  public func password(_ account: String) -> String { options.accounts[account] ?? "" }

  /// The bearer token of an account, empty where there is none; see `Options.bearerTokenLifetime`.
  public func bearerToken(_ account: String) -> String { tokens[account] ?? "" }

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

  /// Runs code inside the server, Lua in Prosody, Erlang (with its full stop) in ejabberd: what an administrator does.
  ///
  /// - Returns: its value as text; of ejabberd `{ok,…}`.
  @discardableResult
  public func evaluate(_ code: String) async throws -> String {
    try await order("evaluate", text: code)
  }

  /// Ends the server and deletes its directory.
  public func end() async throws { try await script.process.stop() }

  @discardableResult
  private func order(_ what: String, text: String? = nil) async throws -> String {
    struct Order: Encodable {
      var order: String
      var number: Int
      var text: String?
    }
    struct Done: Decodable {
      var done: Int
      var value: String?
    }
    let number = Int.random(in: 1...Int(Int32.max))
    try script.send(Order(order: what, number: number, text: text))
    let script = script
    do {
      return try await script.process.output.first("the end of \(what)", within: .seconds(120)) { _ in
        script.all(Done.self).first { $0.done == number }.map { $0.value ?? "" }
      }
    } catch let error as TestSupportError {
      throw TestSupportError("\(error)\n\(script.process.errors.text.suffix(4000))")
    }
  }
}
