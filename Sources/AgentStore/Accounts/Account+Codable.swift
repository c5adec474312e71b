import AgentProtocol
import XMPPSASL

extension Account: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case account, domain, isLogin, store, token, scramKeys, options, presence, deviceId, lastLogin
    case device, devicePolicy, hasUnpublishedPolicy, server, lastState, idle, noPresence, maxRetries, onKick,
      onAuthFailure
    case push
    // The credential of the login, depending on its kind.
    case auth, authcid, password, passwordCommand, accessToken, tokenCommand, issuedToken
    case loginExt, loginExtCommand, extInPassword, certFile, keyFile
  }

  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    let spelling = try fields.decode(String.self, forKey: .account)
    let jid: (bare: String, domain: String)
    do {
      jid = try BareJID.parts(spelling)
    } catch {
      throw DecodingError.dataCorruptedError(
        forKey: .account, in: fields, debugDescription: "not a bare JID")
    }
    self.init(account: jid.bare, domain: jid.domain)
    domain = try fields.decodeIfPresent(String.self, forKey: .domain) ?? domain
    credential = try Self.credential(fields)
    isLogin = try fields.decodeIfPresent(Bool.self, forKey: .isLogin) ?? false
    store = try fields.decodeIfPresent(StorePolicy.self, forKey: .store) ?? .password
    // Values that the next login provides again must not prevent the rest from being read.
    token = try? fields.decodeIfPresent(DeviceToken.self, forKey: .token)
    scramKeys = (try? fields.decodeIfPresent([SCRAMKeys].self, forKey: .scramKeys)) ?? []
    options = try fields.decodeIfPresent(ConnectionOptions.self, forKey: .options) ?? ConnectionOptions()
    presence = try fields.decodeIfPresent(DesiredPresence.self, forKey: .presence)
    idle = try? fields.decodeIfPresent(IdleMode.self, forKey: .idle)
    deviceId = try fields.decodeIfPresent(String.self, forKey: .deviceId)
    lastLogin = try? fields.decodeIfPresent(String.self, forKey: .lastLogin)
    noPresence = try fields.decodeIfPresent(Bool.self, forKey: .noPresence)
    maxRetries = try fields.decodeIfPresent(Int.self, forKey: .maxRetries)
    onKick = try? fields.decodeIfPresent(OnKick.self, forKey: .onKick)
    onAuthFailure = try fields.decodeIfPresent(String.self, forKey: .onAuthFailure)
    devicePolicy = try? fields.decodeIfPresent(DevicePolicy.self, forKey: .devicePolicy)
    hasUnpublishedPolicy = try? fields.decodeIfPresent(Bool.self, forKey: .hasUnpublishedPolicy)
    push = (try? fields.decodeIfPresent([PushRegistration].self, forKey: .push)) ?? []
    device = try? fields.decodeIfPresent(DeviceIdentity.self, forKey: .device)
    server = try? fields.decodeIfPresent(KnownServer.self, forKey: .server)
    lastState = try? fields.decodeIfPresent(LastState.self, forKey: .lastState)
    others = try decoder.otherFields(than: Key.allCases)
  }

  private static func credential(_ fields: KeyedDecodingContainer<Key>) throws -> LoginCredential {
    var credential = LoginCredential()
    credential.kind = try fields.decodeIfPresent(LoginKind.self, forKey: .auth) ?? .password
    credential.authcid = try fields.decodeIfPresent(String.self, forKey: .authcid)
    credential.password = try fields.decodeIfPresent(Secret.self, forKey: .password)
    credential.passwordCommand = try fields.decodeIfPresent(String.self, forKey: .passwordCommand)
    credential.token = try fields.decodeIfPresent(IssuedToken.self, forKey: .accessToken)
    credential.tokenCommand = try fields.decodeIfPresent(String.self, forKey: .tokenCommand)
    credential.issued = try fields.decodeIfPresent(IssuedToken.self, forKey: .issuedToken)
    credential.loginExt = try fields.decodeIfPresent(String.self, forKey: .loginExt)
    credential.loginExtCommand = try fields.decodeIfPresent(String.self, forKey: .loginExtCommand)
    credential.extInPassword = try fields.decodeIfPresent(Bool.self, forKey: .extInPassword) ?? false
    credential.certFile = try fields.decodeIfPresent(String.self, forKey: .certFile)
    credential.keyFile = try fields.decodeIfPresent(String.self, forKey: .keyFile)
    return credential
  }

  package func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: Key.self)
    try fields.encode(account, forKey: .account)
    try fields.encode(domain, forKey: .domain)
    try fields.encode(isLogin, forKey: .isLogin)
    try fields.encode(store, forKey: .store)
    try encode(credential, to: &fields)
    try fields.encodeIfPresent(token, forKey: .token)
    if !scramKeys.isEmpty { try fields.encode(scramKeys, forKey: .scramKeys) }
    if options != ConnectionOptions() { try fields.encode(options, forKey: .options) }
    try fields.encodeIfPresent(presence, forKey: .presence)
    try fields.encodeIfPresent(idle, forKey: .idle)
    try fields.encodeIfPresent(deviceId, forKey: .deviceId)
    try fields.encodeIfPresent(lastLogin, forKey: .lastLogin)
    try fields.encodeIfPresent(device, forKey: .device)
    try fields.encodeIfPresent(devicePolicy, forKey: .devicePolicy)
    try fields.encodeIfPresent(hasUnpublishedPolicy, forKey: .hasUnpublishedPolicy)
    if !push.isEmpty { try fields.encode(push, forKey: .push) }
    try fields.encodeIfPresent(noPresence, forKey: .noPresence)
    try fields.encodeIfPresent(maxRetries, forKey: .maxRetries)
    try fields.encodeIfPresent(onKick, forKey: .onKick)
    try fields.encodeIfPresent(onAuthFailure, forKey: .onAuthFailure)
    try fields.encodeIfPresent(server, forKey: .server)
    try fields.encodeIfPresent(lastState, forKey: .lastState)
    try encoder.encode(otherFields: others)
  }

  private func encode(
    _ credential: LoginCredential, to fields: inout KeyedEncodingContainer<Key>
  ) throws {
    if credential.kind != .password { try fields.encode(credential.kind, forKey: .auth) }
    try fields.encodeIfPresent(credential.authcid, forKey: .authcid)
    try fields.encodeIfPresent(credential.password, forKey: .password)
    try fields.encodeIfPresent(credential.passwordCommand, forKey: .passwordCommand)
    try fields.encodeIfPresent(credential.token, forKey: .accessToken)
    try fields.encodeIfPresent(credential.tokenCommand, forKey: .tokenCommand)
    try fields.encodeIfPresent(credential.issued, forKey: .issuedToken)
    try fields.encodeIfPresent(credential.loginExt, forKey: .loginExt)
    try fields.encodeIfPresent(credential.loginExtCommand, forKey: .loginExtCommand)
    if credential.extInPassword { try fields.encode(true, forKey: .extInPassword) }
    try fields.encodeIfPresent(credential.certFile, forKey: .certFile)
    try fields.encodeIfPresent(credential.keyFile, forKey: .keyFile)
  }
}
