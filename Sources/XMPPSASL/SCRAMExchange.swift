/// The messages of a SCRAM exchange up to the proof, as sent, and the text that is signed (RFC 5802 §3).
struct SCRAMExchange: Hashable, Sendable {
  let serverFirst: SCRAMServerFirst
  let clientFirstBare: [UInt8]
  let serverFirstBytes: [UInt8]
  let clientFinalWithoutProof: [UInt8]

  private var authMessage: [UInt8] {
    Array(
      [clientFirstBare, serverFirstBytes, clientFinalWithoutProof].joined(separator: [UInt8(ascii: ",")]))
  }

  /// `ClientKey XOR ClientSignature`.
  func proof(_ keys: SCRAMKeys) throws(SASLError) -> [UInt8] {
    var storedKey = try keys.clientKey.withBytes { (key) throws(SASLError) in try keys.hash.hash(key) }
    let signature = try keys.hash.hmac(key: Secret(wiping: &storedKey), authMessage)
    return keys.clientKey.withBytes { key in zip(key, signature).map { $0 ^ $1 } }
  }

  /// The signature that the server must send.
  func serverSignature(_ keys: SCRAMKeys) throws(SASLError) -> [UInt8] {
    try keys.hash.hmac(key: keys.serverKey, authMessage)
  }

  /// The message that carries the proof.
  func clientFinal(proof: [UInt8]) -> [UInt8] {
    clientFinalWithoutProof + Array(",p=\(Base64.encode(proof))".utf8)
  }
}
