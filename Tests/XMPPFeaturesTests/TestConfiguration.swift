import NIOCore
import TestSupport
import XMPP
import XMPPSASL
import XMPPStanza

extension StreamConfiguration {
  /// Of a private server of the tests.
  init(_ account: String, password: String, port: Int, caFile: String) throws {
    let jid = try JID(account)
    self.init(
      account: jid, credentials: SASLCredentials(authcid: jid.local ?? "", password: Secret(password)))
    host = TestServer.host
    self.port = port
    self.caFile = caFile
    timeout = .seconds(50)
  }

  /// Of an account that a server has from the beginning.
  init(_ name: String, on server: TestServer) throws {
    try self.init(
      server.jid(name), password: server.password(name), port: server.port, caFile: server.caFile)
  }
}
