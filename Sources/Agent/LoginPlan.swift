import AgentProtocol
import NIOCore
import XMPP
import XMPPFeatures
import XMPPSASL
import XMPPStanza
import XMPPTransport

/// Everything a login needs, made of what was given now and what is stored: pure.
struct LoginPlan: Sendable, Equatable {
  var account: JID
  var password: Secret
  /// The password came from the user just now, not from the store.
  var isGiven: Bool
  var passwordCommand: String?
  /// nil: as the account has it.
  var store: StorePolicy?
  /// The user has said with this login what is to be stored.
  var isStoreChosen = false
  var options: ConnectionOptions
  /// Shows the desired presence when online.
  var sendsPresence = true
  /// What is known of the server.
  var server: KnownServer?
  /// How much the server objected to being answered before it asked, in this login.
  var objections = 0

  private var tls: TLSMode?
  private var certificateSHA256: [UInt8]?

  /// - Throws: `invalidParameter` naming the option that is wrong.
  init(
    account: JID, password: Secret, isGiven: Bool, passwordCommand: String? = nil, store: StorePolicy?,
    options: ConnectionOptions
  ) throws(Failure) {
    self.account = account.bare
    self.password = password
    self.isGiven = isGiven
    self.passwordCommand = passwordCommand
    self.store = store
    self.options = options
    self.options.resource = options.resource ?? account.resource
    guard account.local != nil else {
      throw Self.invalid("a JID to log in with has a local part: \(account)")
    }
    tls = options.tls.flatMap(TLSMode.init)
    if let hex = options.certSHA256 {
      guard let bytes = Self.bytes(hex: hex), bytes.count == 32 else {
        throw Self.invalid("a SHA-256 has 64 hexadecimal digits")
      }
      certificateSHA256 = bytes
    }
    if let resource = self.options.resource {
      do { _ = try self.account.with(resource: resource) } catch { throw Self.invalid(error.message) }
    }
  }

  /// The stream for one attempt of this plan.
  func configuration(timeout: TimeAmount, language: String) -> StreamConfiguration {
    var configuration = StreamConfiguration(
      account: account,
      credentials: SASLCredentials(authcid: account.local ?? "", password: XMPPSASL.Secret(password.value)),
      resource: options.resource)
    configuration.host = options.host
    configuration.port = options.port
    configuration.tls = tls
    configuration.caFile = options.caFile
    configuration.certificateSHA256 = certificateSHA256
    configuration.timeout = timeout
    configuration.anticipation =
      isStepByStep ? .stepByStep : server?.anticipation ?? .ofUnknownServer
    configuration.anticipatedTarget = server?.target
    configuration.policy = server?.policy ?? SASLPolicy()
    configuration.language = language
    configuration.responders = Dictionary(uniqueKeysWithValues: [
      Ping.responder, Roster.responder(own: account),
    ])
    return configuration
  }

  /// The server does not like to be answered before it asked.
  var isStepByStep: Bool { (server?.objections ?? 0) + objections > 1 }

  /// Whether a session of another plan has to make way for this one.
  func differs(from running: LoginPlan) -> Bool {
    password != running.password || options != running.options
  }

  private static func invalid(_ detail: String) -> Failure {
    Failure(.invalidParameter, stage: .input, detail: detail)
  }

  /// Digits with or without colons between them, as tools print fingerprints.
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

extension ConnectionOptions {
  /// These options with the given ones of `other` in their place. A new host has a port of its own, and of CA file
  /// and pinned certificate the new one counts alone.
  func overridden(by other: ConnectionOptions) -> ConnectionOptions {
    var options = self
    if let host = other.host, host != self.host {
      options.host = host
      options.port = nil
    }
    options.port = other.port ?? options.port
    options.tls = other.tls ?? tls
    if other.caFile != nil || other.certSHA256 != nil {
      options.caFile = other.caFile
      options.certSHA256 = other.certSHA256
    }
    options.resource = other.resource ?? resource
    return options
  }
}

extension Failure {
  /// The same failure in the agent's words: both sides use the names of one table.
  init(_ error: XMPPError) {
    self.init(
      Name(rawValue: error.code.rawValue), stage: Stage(rawValue: error.stage.rawValue) ?? .request,
      detail: error.condition == nil ? error.message : nil, condition: error.condition, text: error.text)
  }
}
