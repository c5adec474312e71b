import Glibc
import Testing

@testable import XMPPTransport

@Suite struct TLSContextSharingTests {
  private static func configuration(_ domain: String, caFile: String? = nil) -> TLSConfiguration {
    TLSConfiguration(domain: domain, caFile: caFile)
  }

  @Test("Connections with the same settings share a TLS context while one of them uses it.")
  func shared() throws {
    let settings = Self.configuration("shared.example")
    var one: TLSContext? = try .shared(settings)
    let other = try TLSContext.shared(settings)
    #expect(one === other)
    let another = try TLSContext.shared(Self.configuration("other.example"))
    #expect(another !== other)
    var pinned = settings
    pinned.pinnedCertificateSHA256 = [UInt8](repeating: 7, count: 32)
    let withPin = try TLSContext.shared(pinned)
    #expect(withPin !== other)
    weak let kept = other
    one = nil
    #expect(kept === other)
  }

  @Test("A TLS context that no connection uses is released.")
  func forgotten() throws {
    let settings = Self.configuration("forgotten.example")
    weak var context: TLSContext?
    do {
      let made = try TLSContext.shared(settings)
      context = made
      #expect(context != nil)
    }
    #expect(context == nil)
    for number in 0..<10 { _ = try TLSContext.shared(Self.configuration("f\(number).example")) }
    let kept = SharedContexts.all.withLockedValue { $0.count }
    #expect(kept < 10)
  }

  @Test("A changed CA file, or the end of a period, leads to a new TLS context.")
  func renewed() throws {
    let one = try TestCertificate(isCA: true)
    let two = try TestCertificate(isCA: true)
    try TestCertificate.withFile([one]) { path in
      let settings = Self.configuration("renewed.example", caFile: path)
      let first = try TLSContext.shared(settings)
      let again = try TLSContext.shared(settings)
      #expect(again === first)
      try TestCertificate.withFile([two, one]) { other in
        #expect(rename(other, path) == 0)
        let second = try TLSContext.shared(settings)
        #expect(second !== first)
        // `withFile` deletes what it has made.
        #expect(link(path, other) == 0)
      }
    }
    var contexts = SharedContexts()
    let context = try TLSContext(Self.configuration("old.example"))
    let key = SharedContexts.Key(context.configuration)
    let made = ContinuousClock.now
    #expect(contexts.add(context, key, at: made) === context)
    #expect(contexts.find(key, at: made + .seconds(3599)) === context)
    #expect(contexts.find(key, at: made + .seconds(3600)) == nil)
  }

  @Test("Invalid settings are reported for a shared TLS context as for any other.")
  func unusable() {
    let error = #expect(throws: TransportError.self) {
      try TLSContext.shared(Self.configuration("example.org", caFile: "/nonexistent/ca.pem"))
    }
    #expect(error?.code == .invalidConfiguration)
  }
}
