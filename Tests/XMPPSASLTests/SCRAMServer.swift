import Testing
import XMPPSASL

/// The other side of SCRAM, written from RFC 5802 alone: it shares with the client only hash and HMAC.
struct SCRAMServer {
  let hash: Digest
  let iterations: Int
  let salt: [UInt8]
  /// The names that the client must give, as the server knows them.
  let userName: String
  let authzid: String?
  let nonce: String
  /// What follows the iteration count, with its comma.
  let extensions: String
  /// What TLS has on this side, by type; a client that names one is held to it.
  let channelBindings: [String: [UInt8]]
  private let storedKey: [UInt8]
  private let serverKey: [UInt8]

  private var gs2Header = ""
  private var bindingData: [UInt8] = []
  private var signedSoFar = ""
  private var wholeNonce = ""
  private(set) var signature = ""

  /// `password` is the one that an administrator entered, prepared already.
  init(
    hash: Digest, iterations: Int, salt: [UInt8], userName: String, authzid: String?, password: String,
    nonce: String, extensions: String = "", channelBindings: [String: [UInt8]] = [:]
  ) throws {
    self.hash = hash
    self.iterations = iterations
    self.salt = salt
    self.userName = userName
    self.authzid = authzid
    self.nonce = nonce
    self.extensions = extensions
    self.channelBindings = channelBindings
    // Hi() of §2.2, as the page has it.
    var block = try hash.hmac(key: Secret(password), salt + [0, 0, 0, 1])
    var salted = block
    for _ in 1..<iterations {
      block = try hash.hmac(key: Secret(password), block)
      for index in salted.indices { salted[index] ^= block[index] }
    }
    storedKey = try hash.hash(hash.hmac(key: Secret(bytes: salted), Array("Client Key".utf8)))
    serverKey = try hash.hmac(key: Secret(bytes: salted), Array("Server Key".utf8))
  }

  /// Takes the client-first message, gives the server-first one.
  mutating func begin(_ message: [UInt8]) throws -> [UInt8] {
    let parts = String(decoding: message, as: UTF8.self).split(
      separator: ",", maxSplits: 2, omittingEmptySubsequences: false)
    try #require(parts.count == 3)
    gs2Header = "\(parts[0]),\(parts[1]),"
    if channelBindings.isEmpty {
      #expect(parts[0] == "n")
    } else {
      bindingData = try #require(channelBindings[String(parts[0].dropFirst(2))])
      #expect(parts[0].hasPrefix("p="))
    }
    #expect(parts[1].isEmpty == (authzid == nil))
    #expect(unescaped(parts[1].dropFirst(2)) == authzid ?? "")
    let fields = parts[2].split(separator: ",")
    try #require(fields.count == 2)
    #expect(unescaped(fields[0].dropFirst(2)) == userName)
    wholeNonce = fields[1].dropFirst(2) + nonce
    let answer = "r=\(wholeNonce),s=\(Base64.encode(salt)),i=\(iterations)\(extensions)"
    signedSoFar = "\(parts[2]),\(answer)"
    return Array(answer.utf8)
  }

  private func unescaped(_ name: Substring) -> String {
    String(name).replacing("=2C", with: ",").replacing("=3D", with: "=")
  }

  /// Takes the client-final message; true if it proves the password.
  mutating func finish(_ message: [UInt8]) throws -> Bool {
    let text = String(decoding: message, as: UTF8.self)
    let lastComma = try #require(text.lastIndex(of: ","))
    let withoutProof = text[..<lastComma]
    let proofField = text[lastComma...]
    try #require(proofField.hasPrefix(",p="))
    // Data of another channel is a wrong proof.
    guard withoutProof == "c=\(Base64.encode(Array(gs2Header.utf8) + bindingData)),r=\(wholeNonce)" else {
      return false
    }
    let signed = Array("\(signedSoFar),\(withoutProof)".utf8)
    let proof = try #require(Base64.decode(String(proofField.dropFirst(3))))
    let clientSignature = try hash.hmac(key: Secret(bytes: storedKey), signed)
    let clientKey = zip(proof, clientSignature).map { $0 ^ $1 }
    signature = "v=" + Base64.encode(try hash.hmac(key: Secret(bytes: serverKey), signed))
    return try hash.hash(clientKey) == storedKey
  }
}
