import TestSupport
import Testing
import XMPPStanza

@testable import XMPPFeatures

@Suite struct ClientManagementTests {
  /// Of XEP-0494 §3.1.
  private static let list = """
    <clients xmlns='urn:xmpp:cam:0'>
      <client connected='true' id='zeiP41HLglIu' type='session'>
        <first-seen>2023-04-06T14:26:08Z</first-seen>
        <last-seen>2023-04-06T14:37:25Z</last-seen>
        <auth><password/></auth>
        <permission status='unrestricted'/>
        <user-agent>
          <software>Gajim</software><uri>https://gajim.org/</uri><device>Juliet's laptop</device>
        </user-agent>
      </client>
      <client connected='false' id='HjEEr45_LQr' type='access'>
        <auth><grant/></auth>
        <permission status='normal'/>
        <user-agent><software>REST client</software></user-agent>
      </client>
      <client connected='true'/>
    </clients>
    """

  @Test("The clients of the example in XEP-0494 are read, and a client without an id is left out.")
  func example() throws {
    let clients = ManagedClient.clients(of: try iq("<iq type='result' id='1'>\(Self.list)</iq>"))
    #expect(clients.map(\.id) == ["zeiP41HLglIu", "HjEEr45_LQr"])
    #expect(clients.map(\.isConnected) == [true, false])
    #expect(clients.map(\.software) == ["Gajim", "REST client"])
    #expect(clients.map(\.device) == ["Juliet's laptop", nil])
    #expect(clients.map(\.lastSeen) == ["2023-04-06T14:37:25Z", nil])
  }

  @Test("A list of clients is empty in an error or in another element, and its length is limited.")
  func hostile() throws {
    #expect(
      ManagedClient.clients(
        of: try iq("<iq type='error' id='1'>\(Self.list)<error type='cancel'/></iq>")
      ).isEmpty)
    #expect(
      ManagedClient.clients(of: try iq("<iq type='result' id='1'><clients xmlns='urn:x'/></iq>")).isEmpty)
    let many = (0..<1000).map { "<client id='\($0)' connected='true'/>" }.joined()
    let clients = ManagedClient.clients(
      of: try iq("<iq type='result' id='1'><clients xmlns='urn:xmpp:cam:0'>\(many)</clients></iq>"))
    #expect(clients.count == 100)
  }
}
