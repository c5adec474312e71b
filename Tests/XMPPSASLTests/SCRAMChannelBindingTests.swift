import Testing

@testable import XMPPSASL

/// What is bound to, and what the GS2 header says about it.
struct SCRAMChannelBindingTests {
  private static let unknown = ChannelBindingType(rawValue: "tls-future")
  private static let data: [ChannelBindingType: [UInt8]] = [
    .tlsExporter: [1, 2], .tlsUnique: [3], .tlsServerEndPoint: [4, 5, 6],
  ]

  struct Row: Sendable, CustomTestStringConvertible {
    var what: String
    var mechanisms: [SASLMechanismName] = [.scramSHA1, .scramSHA256, .scramSHA256Plus]
    var list: [ChannelBindingType]?
    var tls: [ChannelBindingType]
    var allowed: Set<SASLMechanismName>?
    var chosen: SASLMechanismName
    var flag: String

    var testDescription: String { what }
  }

  private static let rows: [Row] = [
    Row(
      what: "Prosody 13, TLS 1.3", list: [.tlsExporter], tls: [.tlsExporter, .tlsServerEndPoint],
      chosen: .scramSHA256Plus, flag: "p=tls-exporter"),
    Row(
      what: "Prosody 13, TLS 1.2", list: [.tlsUnique], tls: [.tlsExporter, .tlsUnique, .tlsServerEndPoint],
      chosen: .scramSHA256Plus, flag: "p=tls-unique"),
    Row(
      what: "Prosody 13, TLS without bindings", list: [.tlsExporter], tls: [],
      chosen: .scramSHA256, flag: "n"),
    Row(
      what: "ejabberd 24.12, TLS 1.3", list: [.tlsServerEndPoint, .tlsExporter],
      tls: [.tlsServerEndPoint, .tlsExporter], chosen: .scramSHA256Plus, flag: "p=tls-exporter"),
    Row(
      what: "ejabberd 23.01, TLS 1.3", tls: [.tlsExporter, .tlsServerEndPoint], chosen: .scramSHA256,
      flag: "n"),
    Row(
      what: "ejabberd 23.01, TLS 1.2", tls: [.tlsExporter, .tlsUnique, .tlsServerEndPoint],
      chosen: .scramSHA256Plus, flag: "p=tls-unique"),
    Row(
      what: "Prosody 0.12, TLS 1.3", mechanisms: [.plain, .scramSHA1], tls: [.tlsExporter],
      chosen: .scramSHA1, flag: "y"),
    Row(
      what: "Prosody 0.12, TLS 1.2 without extended master secret",
      mechanisms: [.plain, .scramSHA1, .scramSHA1Plus], tls: [.tlsServerEndPoint], chosen: .scramSHA1,
      flag: "n"),
    Row(
      what: "a certificate is all that both know", list: [unknown, .tlsServerEndPoint],
      tls: [.tlsUnique, .tlsServerEndPoint], chosen: .scramSHA256Plus, flag: "p=tls-server-end-point"),
    Row(
      what: "no type in common", list: [unknown, .tlsUnique], tls: [.tlsExporter], chosen: .scramSHA256,
      flag: "n"),
    Row(what: "an empty list", list: [], tls: [.tlsExporter, .tlsUnique], chosen: .scramSHA256, flag: "n"),
    Row(
      what: "-PLUS beats a longer hash", mechanisms: [.scramSHA512, .scramSHA1Plus, .scramSHA1],
      list: [.tlsExporter], tls: [.tlsExporter], chosen: .scramSHA1Plus, flag: "p=tls-exporter"),
    Row(
      what: "-PLUS for an unknown hash", mechanisms: [.scramSHA1, SASLMechanismName("SCRAM-SHA3-512-PLUS")],
      list: [.tlsExporter], tls: [.tlsExporter], chosen: .scramSHA1, flag: "n"),
    Row(
      what: "-PLUS that is not allowed", list: [.tlsExporter], tls: [.tlsExporter],
      allowed: [.scramSHA256, .scramSHA1], chosen: .scramSHA256, flag: "n"),
    Row(
      what: "types without -PLUS", mechanisms: [.scramSHA256], list: [.tlsExporter], tls: [.tlsExporter],
      chosen: .scramSHA256, flag: "y"),
    Row(what: "no TLS", mechanisms: [.scramSHA256], tls: [], chosen: .scramSHA256, flag: "n"),
    Row(
      what: "a type that only TLS knows", mechanisms: [.scramSHA256], tls: [unknown], chosen: .scramSHA256,
      flag: "n"),
  ]

  /// What the mechanism that is chosen says before the user's name.
  private func choose(
    _ mechanisms: [SASLMechanismName], list: [ChannelBindingType]?, tls: [ChannelBindingType],
    allowed: Set<SASLMechanismName>? = nil
  ) throws -> (name: SASLMechanismName, header: String) {
    let bindings = tls.map { ($0, Self.data[$0] ?? [0]) }
    var mechanism = try SASLMechanismChoice.choose(
      offer: SASLOffer(mechanisms: mechanisms, channelBindings: list),
      credentials: SASLCredentials(authcid: "user", password: Secret("pencil")),
      context: SASLContext(
        isEncrypted: !tls.isEmpty, channelBindings: Dictionary(uniqueKeysWithValues: bindings)),
      policy: SASLPolicy(allowed: allowed))
    let message = String(decoding: try #require(try mechanism.initialResponse()), as: UTF8.self)
    return (mechanism.name, try #require(message.split(separator: ",n=user,").first.map(String.init)))
  }

  @Test("The offers of real servers lead to the right mechanism and channel binding flag.", arguments: rows)
  func servers(row: Row) throws {
    let (name, header) = try choose(row.mechanisms, list: row.list, tls: row.tls, allowed: row.allowed)
    #expect(name == row.chosen)
    #expect(header == "\(row.flag),")
  }

  @Test("The channel binding flag is right for every set of types on either side, with and without -PLUS.")
  func everyCombination() throws {
    let types: [ChannelBindingType] = [.tlsExporter, .tlsUnique, .tlsServerEndPoint]
    let subsets = (0..<8).map { set in types.indices.filter { set >> $0 & 1 == 1 }.map { types[$0] } }
    let lists: [[ChannelBindingType]?] = [nil] + subsets + subsets.map { [Self.unknown] + $0.reversed() }
    for tls in subsets {
      for list in lists {
        let without = try choose([.scramSHA256, .scramSHA1], list: list, tls: tls)
        #expect(without.name == .scramSHA256)
        #expect(without.header == (tls.isEmpty ? "n," : "y,"))

        let known = list ?? [.tlsUnique]
        let best = types.first { tls.contains($0) && known.contains($0) }
        let with = try choose([.scramSHA1, .scramSHA256, .scramSHA256Plus], list: list, tls: tls)
        #expect(with.name == (best == nil ? .scramSHA256 : .scramSHA256Plus))
        #expect(with.header == (best.map { "p=\($0)," } ?? "n,"))
      }
    }
  }

  @Test("A server whose offer contradicts the channel binding flag of the first message is detected.")
  func contradicted() throws {
    func offer(_ names: SASLMechanismName..., types: [ChannelBindingType]? = nil) -> SASLOffer {
      SASLOffer(mechanisms: names, channelBindings: types)
    }
    let old = offer(.scramSHA1)
    let new = offer(.scramSHA1, .scramSHA1Plus, types: [.tlsExporter])
    let unique = offer(.scramSHA1, .scramSHA1Plus)
    for (first, second, isContradicted, binds) in [
      (old, old, false, true), (old, new, true, true), (old, unique, true, true), (old, new, false, false),
      (new, new, false, true), (new, unique, true, true), (unique, unique, false, true),
      (unique, new, true, true),
    ] {
      let context = SASLContext(
        isEncrypted: true,
        channelBindings: binds ? [(first == unique ? .tlsUnique : .tlsExporter): [1]] : [:])
      var mechanism = try SASLMechanismChoice.choose(
        offer: first, credentials: SASLCredentials(authcid: "user", password: Secret("pencil")),
        context: context)
      #expect(!mechanism.contradictsOffer)
      mechanism.offered(second)
      #expect(mechanism.contradictsOffer == isContradicted, "\(first) \(second)")
    }
  }

  @Test("The proof covers the data of the channel binding type that the first message names.")
  func boundData() throws {
    for (type, data) in Self.data {
      let offer = SASLOffer(mechanisms: [.scramSHA1Plus], channelBindings: [type])
      let context = SASLContext(isEncrypted: true, channelBindings: Self.data)
      #expect(SCRAMChannelBinding.common(offer, context) == .required(type, data: data))
    }
  }

  @Test("A server that offers only -PLUS mechanisms gets no login without channel binding.")
  func plusOnly() {
    #expect {
      try choose([.scramSHA512Plus, .scramSHA1Plus], list: nil, tls: [.tlsExporter])
    } throws: { error in
      guard let error = error as? SASLError else { return false }
      return error.code == .mechanismUnavailable && error.message.contains("lacks tls-unique")
    }
  }
}
