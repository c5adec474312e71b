import Testing
import XMPPStanza

@testable import XMPPFeatures

@Suite struct PushNotificationsTests {
  @Test("The requests for push notifications have the form of XEP-0357.")
  func requests() throws {
    let service = try JID("push-5.client.example")
    func xml(_ request: IQ) -> String? { request.type == .set ? request.payload.first?.xmlString() : nil }
    #expect(
      xml(PushNotifications.enable(service, node: "yxs32uqsflafdk3iuqo"))
        == "<enable xmlns='urn:xmpp:push:0' jid='push-5.client.example' node='yxs32uqsflafdk3iuqo'/>")
    #expect(
      xml(PushNotifications.enable(service, node: "yxs32uqsflafdk3iuqo", secret: "eruio234vzxc2kla-91"))
        == "<enable xmlns='urn:xmpp:push:0' jid='push-5.client.example' node='yxs32uqsflafdk3iuqo'>"
        + "<x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE' type='hidden'>"
        + "<value>http://jabber.org/protocol/pubsub#publish-options</value></field>"
        + "<field var='secret'><value>eruio234vzxc2kla-91</value></field></x></enable>")
    #expect(
      xml(PushNotifications.disable(service, node: "yxs32uqsflafdk3iuqo"))
        == "<disable xmlns='urn:xmpp:push:0' jid='push-5.client.example' node='yxs32uqsflafdk3iuqo'/>")
    #expect(
      xml(PushNotifications.disable(service))
        == "<disable xmlns='urn:xmpp:push:0' jid='push-5.client.example'/>")
  }
}
