import COpenSSL
import Glibc

/// A certificate with its key, made in memory for one test.
final class TestCertificate: @unchecked Sendable {
  // Unchecked: nothing changes after `init`.

  struct Failure: Error {}

  let x509: OpaquePointer
  let key: OpaquePointer

  /// - Parameters:
  ///   - names: subjectAltName in OpenSSL's notation, for example `DNS:example.org`; nil for none.
  ///   - issuer: who signs; nil for self-signed.
  ///   - validity: days from now.
  ///   - hash: of the signature; nil for an algorithm that has its own.
  ///   - keyType: OpenSSL's NID: of P-256, RSA or Ed25519.
  ///   - extensions: further ones by OpenSSL's NID and notation.
  init(
    commonName: String = "a server", names: String? = "DNS:example.org", issuer: TestCertificate? = nil,
    isCA: Bool = false, validity: Range<Int> = -1..<30, hash: OpaquePointer? = EVP_sha256(),
    keyType: Int32 = NID_X9_62_id_ecPublicKey,
    extensions: [(Int32, String)] = []
  ) throws {
    let key = try Self.makeKey(keyType)
    guard let x509 = X509_new() else { throw Failure() }
    self.key = key
    self.x509 = x509
    X509_set_version(x509, 2)
    ASN1_INTEGER_set(X509_get_serialNumber(x509), Int.random(in: 1...Int(Int32.max)))
    X509_gmtime_adj(X509_getm_notBefore(x509), validity.lowerBound * 86_400)
    X509_gmtime_adj(X509_getm_notAfter(x509), validity.upperBound * 86_400)
    X509_set_pubkey(x509, key)
    let name = X509_get_subject_name(x509)
    X509_NAME_add_entry_by_txt(
      name, "CN", 0x1000, Array(commonName.utf8), Int32(commonName.utf8.count), -1, 0)
    X509_set_issuer_name(x509, issuer.map { X509_get_subject_name($0.x509) } ?? name)
    var all = extensions
    if isCA { all.append((NID_basic_constraints, "critical,CA:TRUE")) }
    if let names { all.append((NID_subject_alt_name, names)) }
    for (nid, value) in all {
      var context = X509V3_CTX()
      X509V3_set_ctx(&context, issuer?.x509 ?? x509, x509, nil, nil, 0)
      guard let made = X509V3_EXT_conf_nid(nil, &context, nid, value) else { throw Failure() }
      X509_add_ext(x509, made, -1)
      X509_EXTENSION_free(made)
    }
    guard X509_sign(x509, issuer?.key ?? key, hash) > 0 else { throw Failure() }
  }

  deinit {
    X509_free(x509)
    EVP_PKEY_free(key)
  }

  var sha256: [UInt8] { Self.sha256(x509) }

  static func sha256(_ x509: OpaquePointer) -> [UInt8] { digest(x509, EVP_sha256()) }

  static func digest(_ x509: OpaquePointer, _ hash: OpaquePointer) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var length: UInt32 = 0
    X509_digest(x509, hash, &digest, &length)
    return Array(digest.prefix(Int(length)))
  }

  /// Runs `body` with the path of a PEM file of the certificates, and of the key.
  static func withFile<Result>(
    _ certificates: [TestCertificate], key: TestCertificate? = nil, password: String? = nil,
    _ body: (String) throws -> Result
  ) throws -> Result {
    var template = Array("/tmp/imctl-test-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0, let file = fdopen(descriptor, "w") else { throw Failure() }
    for certificate in certificates { PEM_write_X509(file, certificate.x509) }
    if let key {
      PEM_write_PKCS8PrivateKey(
        file, key.key, password == nil ? nil : EVP_aes_128_cbc(), password, Int32(password?.utf8.count ?? 0),
        nil, nil)
    }
    fclose(file)
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { unlink(path) }
    return try body(path)
  }

  private static func makeKey(_ type: Int32) throws -> OpaquePointer {
    guard let context = EVP_PKEY_CTX_new_id(type, nil) else { throw Failure() }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard
      EVP_PKEY_keygen_init(context) == 1,
      type != NID_X9_62_id_ecPublicKey
        || EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
      EVP_PKEY_keygen(context, &key) == 1, let key
    else { throw Failure() }
    return key
  }
}
