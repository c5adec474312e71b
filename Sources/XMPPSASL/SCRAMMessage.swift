/// What a SCRAM server says first: `r=NONCE,s=SALT,i=COUNT` (RFC 5802 §7).
struct SCRAMServerFirst: Hashable, Sendable {
  /// Client's and server's nonce, as the client must repeat it.
  let nonce: String
  let salt: [UInt8]
  let iterations: Int
  /// What the server says about its offer (XEP-0474), as it is written.
  let offerHash: String?

  /// Reads the message against the grammar and the bounds of ``SCRAMKeyRequest``; whether the nonce continues
  /// the client's is not known here. Extensions that are optional are ignored.
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

/// What a SCRAM server says last: `v=SIGNATURE`, or `e=ERROR`, which is thrown.
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

/// The `letter=value` list that every SCRAM message is, read from the front.
struct SCRAMAttributes: Sendable {
  /// The longest message that is read, in bytes.
  static let limit = 8192

  /// The letters that RFC 5802 gives a meaning at a fixed place, so that no extension can use them.
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

  /// The value of an extension, which must not come twice.
  func onlyValue(of letter: Unicode.Scalar) throws(SASLError) -> String? {
    let values = rest.filter { $0.letter == letter }
    guard values.count <= 1 else {
      throw SASLError(.malformed, "the server's message has \(letter)= twice")
    }
    return values.first?.value
  }

  /// Throws `serverError` where the message is the server's refusal.
  func refuseServerError() throws(SASLError) {
    guard let first = rest.first, first.letter == "e" else { return }
    let isPlain = first.value.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") }
    let value = isPlain && first.value.utf8.count <= 64 ? first.value : "other-error"
    throw SASLError(.serverError, "the server ended SCRAM: \(value)", serverValue: value)
  }

  /// Throws where what is left, which can only be extensions, says something twice or out of place.
  func refuseReserved() throws(SASLError) {
    guard !rest.contains(where: { Self.reserved.contains($0.letter) }) else {
      throw SASLError(.malformed, "the server's message has an attribute out of place")
    }
  }
}
