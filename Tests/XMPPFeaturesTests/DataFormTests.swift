import TestSupport
import Testing
import XMPPXML

@testable import XMPPFeatures

@Suite("Data forms")
struct DataFormTests {
  private static func form(_ fields: String, type: String = "form") throws -> XMLElement {
    try element("<x xmlns='jabber:x:data' type='\(type)'>\(fields)</x>")
  }

  @Test("A data form is read with every kind of field in XEP-0004 §3.3 and keeps unknown kinds.")
  func fields() throws {
    let form = try #require(
      DataForm(
        try Self.form(
          """
          <title>Bot Configuration</title><instructions>Fill out this form!</instructions>
          <field type='hidden' var='FORM_TYPE'><value>jabber:bot</value></field>
          <field type='fixed'><value>Section 1: Bot Info</value></field>
          <field type='text-single' label='The name of your bot' var='botname'/>
          <field type='text-multi' label='Helpful description of your bot' var='description'/>
          <field type='boolean' label='Public bot?' var='public'><required/></field>
          <field type='text-private' label='Password for special access' var='password'/>
          <field type='list-multi' label='What features will the bot support?' var='features'>
            <option label='Contests'><value>contests</value></option><option><value>news</value></option>
            <option label='without a value'/>
            <value>news</value><value>search</value>
          </field>
          <field type='list-single' var='maxsubs'><value>20</value><option><value>20</value></option></field>
          <field type='jid-multi' var='invitelist'/><field type='jid-single' var='owner'/>
          <field type='colour' var='paint'/><field var='untyped'/><field type='text-single'/>
          <field xmlns='urn:other' var='foreign'/>
          """)))
    #expect(form.title == "Bot Configuration")
    #expect(form.instructions == ["Fill out this form!"])
    #expect(form.formType == "jabber:bot")
    #expect(
      form.fields.map { "\($0.name):\($0.kind.rawValue)" } == [
        "FORM_TYPE:hidden", ":fixed", "botname:text-single", "description:text-multi", "public:boolean",
        "password:text-private", "features:list-multi", "maxsubs:list-single", "invitelist:jid-multi",
        "owner:jid-single", "paint:colour", "untyped:text-single",
      ])
    #expect(form.fields.filter(\.isRequired).map(\.name) == ["public"])
    let features = try #require(form.fields.first { $0.name == "features" })
    #expect(
      features.options == [.init(label: "Contests", value: "contests"), .init(label: nil, value: "news")])
    #expect(features.values == ["news", "search"])
    #expect(form.fields.filter(\.kind.takesMany).map(\.name) == ["description", "features", "invitelist"])
  }

  @Test("A submission has the answers, the hidden fields and the defaults of the form, but no fixed text.")
  func submission() throws {
    let form = try #require(
      DataForm(
        try Self.form(
          """
          <field type='hidden' var='FORM_TYPE'><value>jabber:bot</value></field>
          <field type='fixed'><value>Section</value></field>
          <field type='text-single' var='botname'/><field type='text-single' var='empty'/>
          <field type='list-multi' var='features'><value>news</value></field>
          <field type='list-single' var='maxsubs'><value>20</value></field>
          """)))
    let sent = form.submission(["botname": ["<&'Bot"], "features": ["news", "search"], "unasked": ["x"]])
    #expect(
      sent
        == (try Self.form(
          "<field var='FORM_TYPE' type='hidden'><value>jabber:bot</value></field>"
            + "<field var='botname'><value>&lt;&amp;'Bot</value></field>"
            + "<field var='features'><value>news</value><value>search</value></field>"
            + "<field var='maxsubs'><value>20</value></field>", type: "submit")))
  }

  @Test("An element that is not a form, or a form with too many fields, is refused.")
  func refused() throws {
    #expect(DataForm(try Self.form("", type: "submit")) == nil)
    #expect(DataForm(try element("<x xmlns='jabber:x:data'/>")) == nil)
    #expect(DataForm(try element("<x xmlns='jabber:x:oob' type='form'/>")) == nil)
    let field = "<field var='a'/>"
    #expect(DataForm(try Self.form(String(repeating: field, count: 256)))?.fields.count == 256)
    #expect(DataForm(try Self.form(String(repeating: field, count: 257))) == nil)
  }
}
