import AgentProtocol
import XMPPSASL

/// What somebody logs in with: the kind, and what this kind needs. Given now, or stored.
package struct LoginCredential: Sendable, Equatable {
  package var kind = LoginKind.password
  /// The name to authenticate as, where it is not the JID's local part.
  package var authcid: String?
  /// Of the kind `function` the JSON document.
  package var password: Secret?
  /// Prints the password.
  package var passwordCommand: String?
  /// A token given beforehand.
  package var token: IssuedToken?
  /// Prints a token.
  package var tokenCommand: String?
  /// The last answer of `tokenCommand`, to be used until it expires.
  package var issued: IssuedToken?
  package var loginExt: String?
  package var loginExtCommand: String?
  /// Token and login extension go as one JSON object where a password goes.
  package var extInPassword = false
  /// PEM files of the client certificate and its key.
  package var certFile: String?
  package var keyFile: String?

  package init() {}

  package init(password: Secret, command: String? = nil) {
    self.password = password
    passwordCommand = command
  }

  /// There is something to log in with.
  package var isUsable: Bool {
    switch kind {
    case .password, .email, .function: password != nil || passwordCommand != nil
    case .anonymous: true
    case .external: certFile != nil && keyFile != nil
    case .token, .jwt, .apiKey: token != nil || tokenCommand != nil || issued != nil
    case .thirdParty:
      token != nil || tokenCommand != nil || issued != nil || loginExt != nil || loginExtCommand != nil
    }
  }

  /// The same, whatever its commands have answered so far.
  package func isSame(as other: LoginCredential) -> Bool {
    var (one, two) = (self, other)
    one.issued = nil
    two.issued = nil
    return one == two
  }
}

extension LoginCredential {
  /// What was given with a login; nil where nothing was.
  ///
  /// - Parameter stored: what is stored, whose kind holds where none is given.
  ///
  /// Throws `invalidParameter` where what is given does not belong together.
  package init?(given parameters: LoginMethod.Parameters, stored: LoginCredential?) throws(Failure) {
    let hasToken = parameters.token != nil || parameters.tokenCommand != nil
    let hasExtension = parameters.loginExt != nil || parameters.loginExtCommand != nil
    let hasSecret =
      parameters.password != nil || hasToken || parameters.certFile != nil || parameters.auth == .anonymous
    let isExtensionSecret = parameters.auth == .thirdParty && hasExtension
    guard hasSecret || isExtensionSecret else {
      // Another kind needs another secret.
      if let kind = parameters.auth, kind != stored?.kind {
        throw Self.invalid(.needsSecret, kind.rawValue)
      }
      return nil
    }
    self.init()
    kind = parameters.auth ?? Self.kind(of: parameters, stored: stored)
    if parameters.password != nil, !kind.usesPassword {
      throw Self.invalid(.takesNoPassword, kind.rawValue)
    }
    if hasToken, !kind.usesToken { throw Self.invalid(.takesNoToken, kind.rawValue) }
    if (parameters.certFile ?? parameters.keyFile) != nil, kind != .external {
      throw Self.invalid(.takesNoCertificate, kind.rawValue)
    }
    // What does not belong to the secret stays with the account.
    let kept = stored.flatMap { $0.kind == kind ? $0 : nil }
    authcid = parameters.authcid.map { $0.isEmpty ? nil : $0 } ?? kept?.authcid
    password = parameters.password.map { Secret($0) }
    passwordCommand = parameters.passwordCommand
    token = parameters.token.map { IssuedToken(token: Secret(JSONWebToken.stripped($0))) }
    if let token, !IssuedToken.isToken(token.token.value) {
      throw Failure(.invalidToken, stage: .input, detail: .login(.blanksInToken))
    }
    tokenCommand = parameters.tokenCommand
    loginExt = hasExtension ? parameters.loginExt : kept?.loginExt
    loginExtCommand = hasExtension ? parameters.loginExtCommand : kept?.loginExtCommand
    extInPassword = parameters.extInPassword
    certFile = parameters.certFile
    keyFile = parameters.keyFile
    if let stored, stored.kind == kind, stored.tokenCommand == tokenCommand { issued = stored.issued }
    guard isUsable else { throw Self.invalid(.needsSecret, kind.rawValue) }
  }

  /// The kind that a given secret belongs to, where the user does not say.
  private static func kind(of parameters: LoginMethod.Parameters, stored: LoginCredential?) -> LoginKind {
    if parameters.certFile != nil { return .external }
    if parameters.password != nil {
      return stored.flatMap { $0.kind.usesPassword ? $0.kind : nil } ?? .password
    }
    return stored.flatMap { $0.kind.usesToken ? $0.kind : nil } ?? .token
  }

  private static func invalid(_ key: FailureDetail.Login, _ kind: String) -> Failure {
    Failure(.invalidParameter, stage: .input, detail: .login(key, kind))
  }
}
