import COpenSSL

/// Decides whether the certificate of a server proves the JID's domain (RFC 6120 §13.7, RFC 9525).
enum PeerCertificate {
  /// OpenSSL's callback: returns 1 to accept the chain of `store`, 0 to refuse it.
  static func verify(_ store: OpaquePointer?) -> Int32 {
    guard
      let store, let ssl = tls_store_ctx_ssl(store), let data = SSL_get_ex_data(ssl, 0),
      let leaf = X509_STORE_CTX_get0_cert(store)
    else { return 0 }
    let engine = Unmanaged<TLSEngine>.fromOpaque(data).takeUnretainedValue()
    guard let reason = objection(to: leaf, in: store, engine.context) else {
      X509_STORE_CTX_set_error(store, X509_V_OK)
      return 1
    }
    if X509_STORE_CTX_get_error(store) == X509_V_OK {
      X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
    }
    engine.rejection = TransportError(
      .certificateRejected,
      .says(
        .certificateRefused, engine.context.configuration.domain, reason,
        CertificateDescription(leaf).description))
    return 0
  }

  /// The SHA-256 digest of the certificate's DER form.
  static func digest(_ certificate: OpaquePointer) -> [UInt8] {
    digest(certificate, EVP_sha256()) ?? []
  }

  static func digest(_ certificate: OpaquePointer, _ hash: OpaquePointer) -> [UInt8]? {
    let value = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var length: UInt32 = 0
      count = X509_digest(certificate, hash, buffer.baseAddress, &length) == 1 ? Int(length) : 0
    }
    return value.isEmpty ? nil : value
  }

  /// Whether a certificate that was accepted earlier is still valid, as far as it can tell by itself.
  static func isStillAccepted(_ certificate: OpaquePointer, _ configuration: TLSConfiguration) -> Bool {
    if let pin = configuration.pinnedCertificateSHA256 { return digest(certificate) == pin }
    return X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0
      && X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0
  }

  /// The reason to refuse the certificate; nil if it is accepted.
  private static func objection(
    to leaf: OpaquePointer, in store: OpaquePointer, _ context: TLSContext
  ) -> ErrorReason? {
    let configuration = context.configuration
    if let pin = configuration.pinnedCertificateSHA256 {
      return digest(leaf) == pin ? nil : .says(.notPinned)
    }
    if X509_verify_cert(store) == 1 { return objection(to: leaf, inVerified: store, configuration) }
    var error = X509_STORE_CTX_get_error(store)
    if configuration.caFile == nil, unknownIssuer.contains(error), let again = X509_STORE_CTX_new() {
      defer { X509_STORE_CTX_free(again) }
      context.trustSystemFile()
      let untrusted = X509_STORE_CTX_get0_untrusted(store)
      if X509_STORE_CTX_init(again, X509_STORE_CTX_get0_store(store), leaf, untrusted) == 1,
        X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(again), X509_STORE_CTX_get0_param(store)) == 1
      {
        if X509_verify_cert(again) == 1 { return objection(to: leaf, inVerified: again, configuration) }
        error = X509_STORE_CTX_get_error(again)
      }
    }
    return reason(error)
  }

  private static func reason(_ error: Int32) -> ErrorReason {
    switch error {
    case X509_V_ERR_CERT_HAS_EXPIRED: .says(.certificateExpired)
    case X509_V_ERR_CERT_NOT_YET_VALID: .says(.certificateNotYetValid)
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .says(.selfSigned)
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: .says(.selfSignedInChain)
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY: .says(.unknownIssuer)
    default: ErrorReason(text: String(cString: X509_verify_cert_error_string(Int(error))))
    }
  }

  /// The errors for a chain without a trust anchor.
  private static let unknownIssuer = [
    X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
    X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
    X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
  ]

  /// The reason to refuse a certificate whose chain leads to a trust anchor; nil if it is accepted.
  private static func objection(
    to leaf: OpaquePointer, inVerified store: OpaquePointer, _ configuration: TLSConfiguration
  ) -> ErrorReason? {
    let chain = X509_STORE_CTX_get0_chain(store)
    let issuers = (0..<tls_chain_count(chain)).dropFirst().compactMap { tls_chain_certificate(chain, $0) }
    // RFC 5280 §6.1.4 (k). OpenSSL accepts some issuers that are not marked as a CA.
    if issuers.contains(where: { X509_get_version($0) >= 2 && X509_check_ca($0) != 1 }) {
      return .says(.issuerNotCA)
    }
    // Name constraints on DNS names do not restrict the XMPP names.
    let constrained = issuers.contains { X509_get_ext_by_NID($0, NID_name_constraints, -1) >= 0 }
    let names = CertificateNames(leaf)
    return names.prove(configuration, acceptXMPPNames: !constrained) ? nil : .says(.otherDomain)
  }
}
