import COpenSSL
import Glibc

/// The calling thread's queue of OpenSSL errors.
///
/// Code that calls OpenSSL clears the queue before the call, so that an old error is not mistaken for a new one, and
/// drains it after a failure.
enum OpenSSLErrors {
  /// Empties the queue and returns its first error, which caused the others.
  static func drain() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return "unknown error" }
    if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
    // System errors have no reason string; their reason is an errno.
    let number = ERR_GET_REASON(code)
    return strerror(number).map { String(cString: $0) } ?? "error \(code)"
  }
}
