/// The first message of a SCRAM server: `r=NONCE,s=SALT,i=COUNT` (RFC 5802 §7).
struct SCRAMServerFirst: Hashable, Sendable {
  /// The combined nonce of client and server, which the client must repeat.
  let nonce: String
  let salt: [UInt8]
  let iterations: Int
  /// The hash of the server's offer (XEP-0474), as received.
  let offerHash: String?

  /// Parses the message and checks the bounds of ``SCRAMKeyRequest``; the caller checks that the nonce continues the
  /// client's. Optional extensions are ignored.
  init(_ message: [UInt8]) throws(SASLError) {
    var attributes = try SCRAMAttributes(message)
    try attributes.refuseServerError()
    guard !attributes.contains("m") else {
      throw SASLError(
        .unsupportedExtension, "the server demands an extension of SCRAM that this client lacks")
    }
    nonce = try attributes.next("r")
    guard nonce.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw SASLError(.malformed, "the server's nonce is not printable")
    }
    guard let salt = Base64.decode(try attributes.next("s")) else {
      throw SASLError(.malformed, "the server's salt is not base64")
    }
    self.salt = salt
    let count = try attributes.next("i")
    guard count.utf8.first != UInt8(ascii: "0"), count.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw SASLError(.malformed, "the server's iteration count is not a number")
    }
    guard let iterations = Int(count), SCRAMKeyRequest.iterationRange.contains(iterations) else {
      throw SCRAMKeyRequest.iterationsOutOfRange
    }
    self.iterations = iterations
    try attributes.refuseReserved()
    offerHash = try attributes.onlyValue(of: "h")
  }
}

/// The last message of a SCRAM server: `v=SIGNATURE`, or `e=ERROR`, which is thrown.
struct SCRAMServerFinal: Hashable, Sendable {
  let signature: [UInt8]

  init(_ message: [UInt8]) throws(SASLError) {
    var attributes = try SCRAMAttributes(message)
    try attributes.refuseServerError()
    guard let signature = Base64.decode(try attributes.next("v")) else {
      throw SASLError(.malformed, "the server's signature is not base64")
    }
    self.signature = signature
    try attributes.refuseReserved()
  }
}

/// The `letter=value` list of a SCRAM message, read from the front.
struct SCRAMAttributes: Sendable {
  /// The maximum size of a message in bytes.
  static let limit = 8192

  /// The letters that RFC 5802 uses at fixed places, so that no extension can use them.
  private static let reserved = Set("anmrcspive".unicodeScalars)

  private var rest: ArraySlice<(letter: Unicode.Scalar, value: String)>

  /// Throws `tooLarge` or `malformed`.
  init(_ message: [UInt8]) throws(SASLError) {
    guard message.count <= Self.limit else {
      throw SASLError(.tooLarge, "the server's message is longer than \(Self.limit) bytes")
    }
    guard !message.contains(0), let text = String(validating: message, as: UTF8.self) else {
      throw SASLError(.malformed, "the server's message is not text")
    }
    rest = []
    for part in text.unicodeScalars.split(separator: ",", omittingEmptySubsequences: false) {
      let value = part.dropFirst(2)
      guard let letter = part.first, ("a"..."z").contains(letter) || ("A"..."Z").contains(letter),
        part.dropFirst().first == "=", !value.isEmpty
      else { throw SASLError(.malformed, "the server's message is not a list of attributes") }
      rest.append((letter, String(value)))
    }
  }

  func contains(_ letter: Unicode.Scalar) -> Bool { rest.contains { $0.letter == letter } }

  /// The value of the next attribute, which must have this letter.
  mutating func next(_ letter: Unicode.Scalar) throws(SASLError) -> String {
    guard let next = rest.first, next.letter == letter else {
      throw SASLError(.malformed, "the server's message lacks \(letter)= in its place")
    }
    rest.removeFirst()
    return next.value
  }

  /// The value of an extension; throws where it occurs twice.
  func onlyValue(of letter: Unicode.Scalar) throws(SASLError) -> String? {
    let values = rest.filter { $0.letter == letter }
    guard values.count <= 1 else {
      throw SASLError(.malformed, "the server's message has \(letter)= twice")
    }
    return values.first?.value
  }

  /// Throws `serverError` if the message is the server's refusal.
  func refuseServerError() throws(SASLError) {
    guard let first = rest.first, first.letter == "e" else { return }
    let isPlain = first.value.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") }
    let value = isPlain && first.value.utf8.count <= 64 ? first.value : "other-error"
    throw SASLError(.serverError, "the server ended SCRAM: \(value)", serverValue: value)
  }

  /// Throws if the remaining attributes, which must be extensions, are reserved or repeated.
  func refuseReserved() throws(SASLError) {
    guard !rest.contains(where: { Self.reserved.contains($0.letter) }) else {
      throw SASLError(.malformed, "the server's message has an attribute out of place")
    }
  }
}
