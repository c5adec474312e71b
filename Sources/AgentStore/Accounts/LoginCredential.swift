import AgentProtocol
import XMPPSASL

/// The credential of a login, given now or stored: its kind and the data of that kind.
package struct LoginCredential: Sendable, Equatable {
  package var kind = LoginKind.password
  /// The name for authentication, if it is not the local part of the JID.
  package var authcid: String?
  /// The password; for the kind `function`, the JSON document.
  package var password: Secret?
  /// The command that prints the password.
  package var passwordCommand: String?
  /// The token that was given with the login.
  package var token: IssuedToken?
  /// The command that prints a token.
  package var tokenCommand: String?
  /// The last answer of `tokenCommand`, used until it expires.
  package var issued: IssuedToken?
  package var loginExt: String?
  package var loginExtCommand: String?
  /// Whether token and login extension are sent as one JSON object in the place of a password.
  package var extInPassword = false
  /// PEM files of the client certificate and its key.
  package var certFile: String?
  package var keyFile: String?

  package init() {}

  package init(password: Secret, command: String? = nil) {
    self.password = password
    passwordCommand = command
  }

  /// Whether a login is possible with this credential.
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

  /// Whether both are equal apart from the answers of their commands.
  package func isSame(as other: LoginCredential) -> Bool {
    var (one, two) = (self, other)
    one.issued = nil
    two.issued = nil
    return one == two
  }
}

extension LoginCredential {
  /// The credential in the parameters of a login; nil where there is none.
  ///
  /// - Parameter stored: the stored credential, whose kind applies where the parameters name none.
  ///
  /// Throws `invalidParameter` where the parameters do not fit together.
  package init?(given parameters: LoginMethod.Parameters, stored: LoginCredential?) throws(Failure) {
    let hasToken = parameters.token != nil || parameters.tokenCommand != nil
    let hasExtension = parameters.loginExt != nil || parameters.loginExtCommand != nil
    let hasSecret =
      parameters.password != nil || hasToken || parameters.certFile != nil || parameters.auth == .anonymous
    let isExtensionSecret = parameters.auth == .thirdParty && hasExtension
    guard hasSecret || isExtensionSecret else {
      // Another kind requires another secret.
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
    // Fields other than the secret stay with the account.
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

  /// The kind for a given secret where the user names none.
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
