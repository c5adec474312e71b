/// The steps of an ordinary login, to begin a transcript with.
extension [ScriptedServer.Step] {
  /// How far an ordinary login goes.
  public enum Stage: Int, Sendable, Comparable {
    /// The first stream is open and offers STARTTLS.
    case opened
    /// Inside TLS, nothing said yet.
    case secured
    /// The mechanisms have been offered.
    case mechanisms
    /// Success has been sent.
    case authenticated
    /// A resource is bound: `alice@im.example/scripted` unless said otherwise.
    case bound

    public static func < (one: Stage, other: Stage) -> Bool { one.rawValue < other.rawValue }
  }

  /// An ordinary login up to a stage.
  ///
  /// - Parameters:
  ///   - directTLS: leaves STARTTLS out.
  ///   - mechanisms: what is offered.
  ///   - scram: how authentication goes.
  ///   - features: XML of the features offered beside `<bind/>`.
  ///   - jid: the full JID that is bound.
  public static func login(
    until stage: Stage, directTLS: Bool = false, mechanisms: [String] = ["SCRAM-SHA-1"],
    scram: ScriptedServer.SCRAMServer = .init(), features: String = "",
    jid: String = "alice@\(TestServer.domain)/scripted"
  ) -> Self {
    var steps: Self = []
    if !directTLS {
      steps += [
        .header, .features("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls>"),
      ]
    }
    if stage >= .secured, !directTLS {
      steps += [
        .client("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
        .server("<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"), .startTLS,
      ]
    }
    if stage >= .mechanisms {
      let offered = mechanisms.map { "<mechanism>\($0)</mechanism>" }.joined()
      steps += [
        .header, .features("<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>\(offered)</mechanisms>"),
      ]
    }
    if stage >= .authenticated { steps.append(.scram(scram)) }
    if stage >= .bound {
      steps += [
        .header, .features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>\(features)"),
        .client("<iq type='set' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"),
        .server(
          "<iq type='result' id='{bind}'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>"
            + "<jid>\(jid)</jid></bind></iq>"),
      ]
    }
    return steps
  }
}

extension [ScriptedServer.Step] {
  /// What a session asks for when it begins, with its presence: the server has an empty roster, and little else.
  public static let synced: Self = [
    .client("<iq type='get' id='{roster}'/>"), .client("<iq type='set' id='{carbons}'/>"),
    .client("<iq type='get' id='{blocked}'/>"), .client("<presence/>"),
    .server(
      "<iq type='result' id='{roster}'/><iq type='error' id='{carbons}'/><iq type='error' id='{blocked}'/>"),
    .client("<iq type='get' id='{features}'/>"), .server("<iq type='error' id='{features}'/>"),
  ]

  /// The beginning of ``synced`` at a server that manages the stream (XEP-0198), up to the client's first question for an
  /// acknowledgement of its five stanzas.
  ///
  /// The server enables the management when it has read all five, so that the question cannot overtake one of them.
  public static func counted(
    enabled: String = "<enabled xmlns='urn:xmpp:sm:3' id='s1' resume='true'/>"
  ) -> Self {
    [.client("<enable xmlns='urn:xmpp:sm:3'/>")] + synced[..<4] + [
      synced[5], .server(enabled), .client("<r xmlns='urn:xmpp:sm:3'/>"),
    ]
  }

  /// What is left of ``synced`` behind ``counted(enabled:)``.
  public static let answered: Self = [synced[4], synced[6]]
}

extension ScriptedServer.Step {
  /// `C:` a stream header to the test domain.
  public static let header = client("<stream:stream to='\(TestServer.domain)' version='1.0'>")

  /// `S:` a stream header and features, in one write.
  public static func features(_ xml: String) -> Self {
    server(
      "<?xml version='1.0'?><stream:stream id='s1' from='\(TestServer.domain)' version='1.0'"
        + " xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"
        + "<stream:features>\(xml)</stream:features>")
  }
}
